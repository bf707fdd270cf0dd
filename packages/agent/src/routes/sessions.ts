import { AppError, sessionSchema } from '@palaver/contract';
import {
  createSessionSchema,
  cursorPageQuerySchema,
  forkSessionSchema,
  liveRunReplySchema,
  messagePageSchema,
  offsetPageQuerySchema,
  renameSessionSchema,
  sessionDeletedSchema,
  sessionListSchema,
  sessionParamsSchema,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { addRateLimit, describeRoutes, type RateLimitOptions } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { identityOf } from '../auth/auth-hook.ts';
import type { SessionClients } from '../cluster/session-clients.ts';
import type { TurnHub } from '../runs/hub.ts';
import type { MessageStore, Reading } from '../store/messages.ts';
import type { SessionStore } from '../store/sessions.ts';

export interface SessionRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  hub: TurnHub;
  clients: Pick<SessionClients, 'drop'>;
  createLimit: Omit<RateLimitOptions, 'key' | 'hook'>;
}

/** Gives the same 404 for a session of another user and for a missing one. */
export async function requireSession(sessions: Pick<SessionStore, 'find'>, did: string, sessionId: string) {
  const session = await sessions.find(did, sessionId);
  if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
  return session;
}

export async function addSessionRoutes(server: Server, parts: SessionRouteParts): Promise<void> {
  const { sessions, messages, hub, clients } = parts;
  const route = describeRoutes('Sessions');
  const params = sessionParamsSchema;
  const find = (request: FastifyRequest & { params: { sessionId: string } }) =>
    requireSession(sessions, identityOf(request).did, request.params.sessionId);

  await server.register(async (scope: Server) => {
    addRateLimit(scope, { ...parts.createLimit, hook: 'preHandler', key: (request) => identityOf(request).did });
    const created = { 201: sessionSchema };
    const create = route('Create a session', { body: createSessionSchema, response: created });
    scope.post('/sessions', { schema: create }, async (request, reply) =>
      reply.status(201).send(await sessions.create(identityOf(request).did, request.body ?? {})),
    );
    const forked = { params, body: forkSessionSchema, response: created };
    const fork = route('Create a session that shares the past of another up to a message', forked);
    scope.post('/sessions/:sessionId/fork', { schema: fork }, async (request, reply) => {
      const reading: Reading = (bytes, read) => request.takePlace(bytes).then(read);
      const { messageId } = request.body;
      const session = await sessions.fork(identityOf(request).did, await find(request), { messageId, reading });
      return reply.status(201).send(session);
    });
  });

  const listed = { querystring: offsetPageQuerySchema, response: { 200: sessionListSchema } };
  server.get('/sessions', { schema: route("List the user's sessions", listed) }, async (request) =>
    sessions.list(identityOf(request).did, request.query),
  );

  const renamed = { params, body: renameSessionSchema, response: { 200: sessionSchema } };
  const rename = route('Rename a session', renamed);
  server.patch('/sessions/:sessionId', { schema: rename }, async (request) => {
    const { sessionId } = await find(request);
    await sessions.rename(identityOf(request).did, sessionId, request.body.title);
    return find(request);
  });

  const remove = route('Delete a session', { params, response: { 200: sessionDeletedSchema } });
  server.delete('/sessions/:sessionId', { schema: remove }, async (request) => {
    const { sessionId } = await find(request);
    await sessions.remove(identityOf(request).did, sessionId);
    hub.drop(sessionId);
    clients.drop(sessionId);
    return { ok: true as const, sessionId };
  });

  const paged = { params, querystring: cursorPageQuerySchema, response: { 200: messagePageSchema } };
  const page = route('A page of the messages of a session', paged);
  server.get('/sessions/:sessionId/messages', { schema: page }, async (request) => {
    const { sessionId } = await find(request);
    return messages.page(sessionId, request.query, (bytes, read) => request.takePlace(bytes).then(read));
  });

  const live = route('The live run of a session', { params, response: { 200: liveRunReplySchema } });
  server.get('/sessions/:sessionId/run', { schema: live }, async (request) => ({
    run: await hub.live((await find(request)).sessionId),
  }));
}
