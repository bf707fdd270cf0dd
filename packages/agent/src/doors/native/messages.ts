import { createHash } from 'node:crypto';
import {
  type Message,
  type SendMessage,
  sendMessageReplySchema,
  sendMessageSchema,
  sseEventSchema,
} from '@palaver/contract';
import { abortReplySchema, abortSchema, messageListSchema, sessionParamsSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { signalOf } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { identityOf } from '../../auth/auth-hook.ts';
import { sendJsonStream, toJsonStream } from '../../routes/json-stream.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { RunAccess } from '../../runs/access.ts';
import type { TurnHub } from '../../runs/hub.ts';
import { invalid } from '../../runs/input.ts';
import type { MessageStore } from '../../store/messages.ts';
import type { SendKey } from '../../store/run-writes.ts';
import type { SessionStore } from '../../store/sessions.ts';
import { headerOf, type SenderOf } from '../sender-of.ts';
import { sendFrames } from './sse.ts';

type MessageRequest = FastifyRequest & { body: SendMessage };

export interface MessageRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  hub: Pick<TurnHub, 'abort'>;
  access: RunAccess;
  senderOf: SenderOf;
}

export function addMessageRoutes(server: Server, parts: MessageRouteParts): void {
  const { sessions, messages, hub, access } = parts;
  const tags = ['Messages'];

  server.post(
    '/messages/:sessionId',
    {
      config: { refuses: [402, 409, 422] },
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
        },
      },
    },
    async (request, reply) => {
      const { did } = identityOf(request);
      const { stream, returnAllMessages } = request.body;
      const asked = request.params.sessionId;
      const sender = parts.senderOf(request, reply, request.body);
      const run = await access.begin({ ...sender, sessionId: asked, body: request.body }, readSendKey(request, asked));
      const { runId, messageId, frames, leave, sessionId, requestId } = run;
      if (stream) {
        await sendFrames(reply, { runId, messageId, frames, after: 0 }).finally(leave);
        return reply;
      }
      const message = await access.waitForAnswer(did, run, signalOf(reply)).finally(leave);
      reply.header('x-run-id', runId).header('x-message-id', messageId);
      const answered = { sessionId, requestId, message };
      if (!returnAllMessages) return reply.send(answered);
      return sendList(reply, answered, messages.each(sessionId, request.inPlace.bind(request)));
    },
  );

  server.get(
    '/messages/:sessionId',
    {
      schema: {
        tags,
        summary: 'All messages of a session',
        params: sessionParamsSchema,
        response: { 200: messageListSchema },
      },
    },
    async (request, reply) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.params.sessionId);
      return sendList(reply, {}, messages.each(sessionId, request.inPlace.bind(request)));
    },
  );

  server.post(
    '/messages/abort',
    {
      config: { refuses: [404] },
      schema: { tags, summary: 'Stop the turn in flight', body: abortSchema, response: { 200: abortReplySchema } },
    },
    async (request, reply) => {
      const { sessionId } = await requireSession(sessions, identityOf(request).did, request.body.sessionId);
      const { runId } = request.body;
      const aborted = await hub.abort(sessionId, { runId, elapsedMs: () => Math.ceil(reply.elapsedTime) });
      return { ok: true as const, aborted, success: aborted };
    },
  );
}

/** Sends messages as they are read, no faster than the client takes them. */
function sendList(reply: FastifyReply, head: object, messages: AsyncIterable<Message>): FastifyReply {
  async function* write(): AsyncGenerator<string> {
    const start = JSON.stringify(head).slice(0, -1);
    let before = `${start}${start === '{' ? '' : ','}"messages":[`;
    for await (const message of messages) {
      yield before + JSON.stringify(message);
      before = ',';
    }
    yield before === ',' ? ']}' : `${before}]}`;
  }
  return sendJsonStream(reply, toJsonStream(write()));
}

const sendKeyPattern = /^[\x21-\x7e]{1,255}$/;

function readSendKey(request: MessageRequest, sessionId: string): SendKey | undefined {
  const key = headerOf(request, 'idempotency-key');
  if (key === undefined) return undefined;
  if (!sendKeyPattern.test(key))
    throw invalid('idempotency-key', 'must be 1 to 255 printable ASCII characters without spaces');
  const bodyHash = createHash('sha256')
    .update(JSON.stringify([sessionId, request.body]))
    .digest('base64url');
  return { key, bodyHash };
}
