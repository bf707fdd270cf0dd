import { AppError, errorBodySchema, sessionSchema } from '@palaver/contract';
import {
  createSessionSchema,
  cursorPageQuerySchema,
  liveRunReplySchema,
  messagePageSchema,
  offsetPageQuerySchema,
  renameSessionSchema,
  sessionDeletedSchema,
  sessionListSchema,
  sessionParamsSchema,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { addRateLimit, type RateLimitOptions } from '@palaver/service-kit/internal';
import { identityOf } from '../auth/auth-hook.ts';
import type { SessionClients } from '../run/session-clients.ts';
import type { TurnHub } from '../run/turn-hub.ts';
import type { MessageStore } from '../store/messages.ts';
import type { SessionStore } from '../store/sessions.ts';

export interface SessionRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  hub: TurnHub;
  clients: Pick<SessionClients, 'drop'>;
  createLimit: Omit<RateLimitOptions, 'key' | 'hook'>;
}

/** The session of the caller; the same 404 for a session of another user and for a missing one. */
export async function requireSession(sessions: SessionStore, did: string, sessionId: string) {
  const session = await sessions.find(did, sessionId);
  if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
  return session;
}

export async function addSessionRoutes(server: Server, parts: SessionRouteParts): Promise<void> {
  const { sessions, messages, hub, clients } = parts;
  const tags = ['Sessions'];

  await server.register(async (scope: Server) => {
    addRateLimit(scope, { ...parts.createLimit, hook: 'preHandler', key: (request) => identityOf(request).did });
    scope.post(
      '/sessions',
      {
        schema: {
          tags,
          summary: 'Create a session',
          body: createSessionSchema,
          response: { 201: sessionSchema, 400: errorBodySchema, 413: errorBodySchema, 429: errorBodySchema },
        },
      },
      async (request, reply) =>
        reply.status(201).send(await sessions.create(identityOf(request).did, request.body ?? {})),
    );
  });

  server.get(
    '/sessions',
    {
      schema: {
        tags,
        summary: "List the user's sessions",
        querystring: offsetPageQuerySchema,
        response: { 200: sessionListSchema },
      },
    },
    async (request) => sessions.list(identityOf(request).did, request.query),
  );

  server.patch(
    '/sessions/:sessionId',
    {
      schema: {
        tags,
        summary: 'Rename a session',
        params: sessionParamsSchema,
        body: renameSessionSchema,
        response: { 200: sessionSchema, 400: errorBodySchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { did } = identityOf(request);
      const { sessionId } = await requireSession(sessions, did, request.params.sessionId);
      await sessions.rename(did, sessionId, request.body.title);
      return requireSession(sessions, did, sessionId);
    },
  );

  server.delete(
    '/sessions/:sessionId',
    {
      schema: {
        tags,
        summary: 'Delete a session',
        params: sessionParamsSchema,
        response: { 200: sessionDeletedSchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { sessionId } = request.params;
      await requireSession(sessions, identityOf(request).did, sessionId);
      await sessions.remove(identityOf(request).did, sessionId);
      hub.drop(sessionId);
      clients.drop(sessionId);
      return { ok: true as const, sessionId };
    },
  );

  server.get(
    '/sessions/:sessionId/messages',
    {
      schema: {
        tags,
        summary: 'A page of the messages of a session',
        params: sessionParamsSchema,
        querystring: cursorPageQuerySchema,
        response: { 200: messagePageSchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.params.sessionId);
      return messages.page(sessionId, request.query, (bytes, read) => request.takePlace(bytes).then(read));
    },
  );

  server.get(
    '/sessions/:sessionId/run',
    {
      schema: {
        tags,
        summary: 'The live run of a session',
        params: sessionParamsSchema,
        response: { 200: liveRunReplySchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.params.sessionId);
      return { run: await hub.live(sessionId) };
    },
  );
}
