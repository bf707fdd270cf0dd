import { createHash } from 'node:crypto';
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
import type { FastifyReply, FastifyRequest } from 'fastify';
import { identityOf } from '../../auth/auth-hook.ts';
import type { ClientKey } from '../../auth/client-key.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { SendRequest } from '../../run/prepare-turn.ts';
import type { RunAccess } from '../../run/run-access.ts';
import type { TurnHub } from '../../run/turn-hub.ts';
import type { MessageStore } from '../../store/messages.ts';
import type { SendKey } from '../../store/runs.ts';
import type { SessionStore } from '../../store/sessions.ts';
import { sendFrames } from './sse.ts';

type MessageRequest = FastifyRequest & { body: SendMessage };

export interface MessageRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  hub: Pick<TurnHub, 'abort'>;
  access: RunAccess;
  sendLimit: Omit<RateLimitOptions, 'key' | 'hook'>;
  clientKey: ClientKey;
}

export async function addMessageRoutes(server: Server, parts: MessageRouteParts): Promise<void> {
  const { sessions, messages, hub, access } = parts;
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
        const { did } = identityOf(request);
        const { stream, returnAllMessages } = request.body;
        const asked = request.params.sessionId;
        const run = await access.begin(toSendRequest(request, asked, parts), readSendKey(request, asked));
        const { runId, messageId, frames, leave, sessionId, requestId } = run;
        if (stream) {
          await sendFrames(reply, { runId, messageId, frames, after: 0 }).finally(leave);
          return reply;
        }
        const message = await access.waitForAnswer(did, run, signalOf(reply)).finally(leave);
        const all = returnAllMessages ? { messages: await messages.list(sessionId) } : {};
        return reply
          .header('x-run-id', runId)
          .header('x-message-id', messageId)
          .send({ sessionId, requestId, message, ...all });
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
    async (request, reply) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.body.sessionId);
      const { runId } = request.body;
      const aborted = await hub.abort(sessionId, { runId, elapsedMs: Math.ceil(reply.elapsedTime) });
      return { ok: true as const, aborted, success: aborted };
    },
  );
}

function toSendRequest(request: MessageRequest, sessionId: string, { clientKey }: MessageRouteParts): SendRequest {
  const { did, delegation } = identityOf(request);
  return {
    userDid: did,
    sessionId,
    requestId: request.id,
    body: request.body,
    timezone: readTimeZone(request),
    delegation: delegation?.token,
    secrets: {
      matrixAccessToken: headerOf(request, 'x-matrix-access-token'),
      matrixHomeserver: request.body.homeServer ?? headerOf(request, 'x-matrix-homeserver'),
    },
    client: clientKey(request),
    socketId: readSocketId(request),
  };
}

const sendKeyPattern = /^[\x21-\x7e]{1,255}$/;

function readSendKey(request: MessageRequest, sessionId: string): SendKey | undefined {
  const key = headerOf(request, 'idempotency-key');
  if (key === undefined) return undefined;
  if (!sendKeyPattern.test(key)) {
    const message = 'must be 1 to 255 printable ASCII characters without spaces';
    const issues = [{ path: 'idempotency-key', message }];
    throw new AppError('VALIDATION_FAILED', `idempotency-key: ${message}`, { details: { issues } });
  }
  const bodyHash = createHash('sha256')
    .update(JSON.stringify([sessionId, request.body]))
    .digest('base64url');
  return { key, bodyHash };
}

/** Fires when the client has left. */
function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => controller.abort(new AppError('REQUEST_TIMEOUT', 'The client has left.')));
  return controller.signal;
}

/** One that cannot be a socket's id is ignored: it only says which tab gets calls first. */
function readSocketId(request: FastifyRequest): string | undefined {
  const id = headerOf(request, 'x-socket-id');
  return id && /^[\w-]{1,64}$/.test(id) ? id : undefined;
}

/** The body's zone wins over the header. */
function readTimeZone(request: MessageRequest): string | undefined {
  if (request.body.timezone !== undefined) return request.body.timezone;
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
