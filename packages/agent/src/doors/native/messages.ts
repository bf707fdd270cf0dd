import { createHash, randomUUID } from 'node:crypto';
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
import type { Models } from '../../models/create-models.ts';
import type { PendingSend } from '../../plugins/plugin.ts';
import { createBlobStore } from '../../plugins/runtime-context.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { OpenRun, RunReader } from '../../run/open-run.ts';
import type { Turn } from '../../run/turn.ts';
import type { TurnHub } from '../../run/turn-hub.ts';
import type { DelegationStore } from '../../store/delegations.ts';
import type { MessageStore } from '../../store/messages.ts';
import type { RunStore, SendKey } from '../../store/runs.ts';
import type { SessionStore } from '../../store/sessions.ts';
import { sendFrames } from './sse.ts';

type SendRequest = FastifyRequest & { body: SendMessage };

export interface MessageRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  delegations: DelegationStore;
  models: Models;
  hub: TurnHub;
  runs: Pick<RunStore, 'findSend'>;
  reader: RunReader;
  sendLimit: Omit<RateLimitOptions, 'key' | 'hook'>;
  clientKey: ClientKey;
  /** Asks the plugins whether a message may be taken in; they throw to refuse it. */
  beforeSend(send: PendingSend): Promise<void>;
}

export async function addMessageRoutes(server: Server, parts: MessageRouteParts): Promise<void> {
  const { sessions, messages, hub, reader } = parts;
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
        const run = await beginOrFind(request, request.params.sessionId, parts);
        const { runId, frames, leave, sessionId, requestId } = run;
        if (stream) {
          await sendFrames(reply, { runId, frames, after: 0 }).finally(leave);
          return reply;
        }
        const message = await reader.waitForAnswer(did, run, signalOf(reply)).finally(leave);
        const all = returnAllMessages ? { messages: await messages.list(sessionId) } : {};
        return reply.header('x-run-id', runId).send({ sessionId, requestId, message, ...all });
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

/** A run of this message, or the one that was begun with the same `Idempotency-Key` before. */
async function beginOrFind(request: SendRequest, sessionId: string, parts: MessageRouteParts): Promise<OpenRun> {
  const { did } = identityOf(request);
  const send = readSendKey(request, sessionId);
  const sent = send && (await parts.runs.findSend(did, send.key));
  if (send && sent) return openSent(did, { ...sent, send }, parts);
  const turn = await prepareTurn(request, sessionId, request.body, parts);
  const begun = await parts.hub.submitOnce(turn, send);
  if ('runId' in begun) return { ...begun, leave() {} };
  return openSent(did, { ...begun.known, send }, parts);
}

function openSent(
  did: string,
  { runId, bodyHash, send }: { runId: string; bodyHash: string; send: SendKey | undefined },
  { reader }: MessageRouteParts,
): Promise<OpenRun> {
  if (bodyHash === send?.bodyHash) return reader.open(did, runId);
  const message = 'This Idempotency-Key was used for another message. Use a new key for a new message.';
  throw new AppError('IDEMPOTENCY_KEY_REUSED', message);
}

const sendKeyPattern = /^[\x21-\x7e]{1,255}$/;

function readSendKey(request: SendRequest, sessionId: string): SendKey | undefined {
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
