import { randomUUID } from 'node:crypto';
import {
  AppError,
  abortReplySchema,
  abortSchema,
  errorBodySchema,
  messageListSchema,
  type SendMessage,
  sendMessageReplySchema,
  sendMessageSchema,
  sessionParamsSchema,
  sseEventSchema,
  timeZoneSchema,
} from '@palaver/contract';
import { addRateLimit, type RateLimitOptions, type Server } from '@palaver/service-kit';
import type { FastifyRequest } from 'fastify';
import { identityOf } from '../auth/auth-hook.ts';
import type { ClientKey } from '../auth/client-key.ts';
import type { Models } from '../models/create-models.ts';
import type { PendingSend } from '../plugins/plugin.ts';
import { createBlobStore } from '../plugins/runtime-context.ts';
import type { DelegationStore } from '../store/delegations.ts';
import type { MessageStore } from '../store/messages.ts';
import type { SessionStore } from '../store/sessions.ts';
import { sendFrames } from '../transports/sse.ts';
import type { Turn, TurnHub } from '../turn/turn-hub.ts';
import { requireSession } from './sessions.ts';

export interface MessageRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  delegations: DelegationStore;
  models: Models;
  hub: TurnHub;
  sendLimit: Omit<RateLimitOptions, 'key' | 'hook'>;
  clientKey: ClientKey;
  /** Asks the plugins whether a message may be taken in; they throw to refuse it. */
  beforeSend(send: PendingSend): Promise<void>;
}

export async function addMessageRoutes(server: Server, parts: MessageRouteParts): Promise<void> {
  const { sessions, messages, hub } = parts;
  const tags = ['Messages'];

  await server.register(async (scope: Server) => {
    addRateLimit(scope, { ...parts.sendLimit, hook: 'preHandler', key: (request) => identityOf(request).did });
    scope.post(
      '/messages/:sessionId',
      {
        schema: {
          tags,
          summary: 'Send a message',
          description: 'With `stream: true` the reply is a stream of Server-Sent Events, otherwise one JSON reply.',
          params: sessionParamsSchema,
          body: sendMessageSchema,
          response: {
            200: {
              description: 'The answer, or the stream that ends with it',
              content: {
                'application/json': { schema: sendMessageReplySchema },
                'text/event-stream': { schema: sseEventSchema },
              },
            },
            400: errorBodySchema,
            402: errorBodySchema,
            404: errorBodySchema,
            409: errorBodySchema,
            422: errorBodySchema,
            429: errorBodySchema,
          },
        },
      },
      async (request, reply) => {
        const turn = await prepareTurn(request, request.params.sessionId, request.body, parts);
        const run = await hub.submit(turn).catch(async (error) => {
          // It cannot be stored where the session was deleted meanwhile; then that is what the client hears.
          await requireSession(sessions, turn.user.did, turn.session.sessionId);
          throw error;
        });
        if (request.body.stream) {
          await sendFrames(reply, { runId: run.runId, frames: run.frames, after: 0 });
          return reply;
        }
        const message = await run.answer;
        const { sessionId } = turn.session;
        const all = request.body.returnAllMessages ? { messages: await messages.list(sessionId) } : {};
        return reply.header('x-run-id', run.runId).send({ sessionId, requestId: run.requestId, message, ...all });
      },
    );
  });

  server.get(
    '/messages/:sessionId',
    {
      schema: {
        tags,
        summary: 'All messages of a session',
        params: sessionParamsSchema,
        response: { 200: messageListSchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.params.sessionId);
      return { messages: await messages.list(sessionId) };
    },
  );

  server.post(
    '/messages/abort',
    {
      schema: {
        tags,
        summary: 'Stop the turn in flight',
        body: abortSchema,
        response: { 200: abortReplySchema, 404: errorBodySchema },
      },
    },
    async (request) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.body.sessionId);
      const aborted = await hub.abort(sessionId);
      return { ok: true as const, aborted, success: aborted };
    },
  );
}

/** Everything that can be refused is refused here, before a byte of a stream goes out. */
async function prepareTurn(
  request: FastifyRequest,
  sessionId: string,
  body: SendMessage,
  parts: MessageRouteParts,
): Promise<Turn> {
  const { did, delegation } = identityOf(request);
  const session = await requireSession(parts.sessions, did, sessionId);
  const model = parts.models.choose(body.model).modelId;
  const timezone = body.timezone ?? readTimeZone(request);
  const secrets = {
    matrixAccessToken: headerOf(request, 'x-matrix-access-token'),
    matrixHomeserver: body.homeServer ?? headerOf(request, 'x-matrix-homeserver'),
  };
  const blobs = createBlobStore();
  const token = delegation?.token ?? (await parts.delegations.find(did))?.token;
  const sent = { sendId: randomUUID(), requestId: request.id, model, secrets, blobs };
  // Last, because whoever has said yes hears of the end only from the hub.
  await parts.beforeSend({ ...sent, userDid: did, sessionId, message: body, client: parts.clientKey(request) });
  return { ...sent, session, user: { did, delegation: token }, body, timezone };
}

function readTimeZone(request: FastifyRequest): string | undefined {
  const zone = headerOf(request, 'x-timezone');
  if (zone === undefined || timeZoneSchema.safeParse(zone).success) return zone;
  const issues = [{ path: 'x-timezone', message: 'must be an IANA time zone name, for example Africa/Nairobi' }];
  throw new AppError('VALIDATION_FAILED', `x-timezone: "${zone.slice(0, 60)}" is not a time zone.`, {
    details: { issues },
  });
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) || undefined;
}
