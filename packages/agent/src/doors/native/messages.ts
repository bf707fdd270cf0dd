import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  agentLimits,
  type Message,
  type SendMessage,
  sendMessageReplySchema,
  sendMessageSchema,
  sseEventSchema,
} from '@palaver/contract';
import {
  abortReplySchema,
  abortSchema,
  answerApprovalSchema,
  approvalParamsSchema,
  approvalReplySchema,
  frameNumberSchema,
  invalid,
  messageListSchema,
  runParamsSchema,
  runQuerySchema,
  sessionParamsSchema,
} from '@palaver/contract/internal';
import { clientAddress, type Server } from '@palaver/service-kit';
import { describeRoutes, openEventStream, signalOf } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { headerOf, identityOf, type SenderOf } from '../../auth/auth-hook.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { RunAccess } from '../../runs/access.ts';
import type { FrameLog } from '../../runs/frames.ts';
import type { TurnHub } from '../../runs/hub.ts';
import type { MessageStore } from '../../store/messages.ts';
import type { SendKey } from '../../store/run-writes.ts';
import type { SessionStore } from '../../store/sessions.ts';
import { dropBody } from '../heavy-requests.ts';

type MessageRequest = FastifyRequest & { body: SendMessage };

interface MessageRouteParts {
  sessions: SessionStore;
  messages: MessageStore;
  hub: Pick<TurnHub, 'abort'>;
  access: RunAccess;
  senderOf: SenderOf;
}

const route = describeRoutes('Messages');

export function addMessageRoutes(server: Server, parts: MessageRouteParts): void {
  const { sessions, messages, hub, access } = parts;

  const send = route('Send a message', {
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
  });
  server.post(
    '/messages/:sessionId',
    { config: { refuses: [402, 409, 422] }, schema: send },
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

  const listed = { params: sessionParamsSchema, response: { 200: messageListSchema } };
  const list = route('All messages of a session', listed);
  server.get('/messages/:sessionId', { schema: list }, async (request, reply) => {
    const { sessionId } = await requireSession(sessions, identityOf(request).did, request.params.sessionId);
    return sendList(reply, {}, messages.each(sessionId, request.inPlace.bind(request)));
  });

  const abort = route('Stop the turn in flight', { body: abortSchema, response: { 200: abortReplySchema } });
  server.post('/messages/abort', { config: { refuses: [404] }, schema: abort }, async (request, reply) => {
    const { sessionId } = await requireSession(sessions, identityOf(request).did, request.body.sessionId);
    const { runId } = request.body;
    const aborted = await hub.abort(sessionId, { runId, elapsedMs: () => Math.ceil(reply.elapsedTime) });
    return { ok: true as const, aborted, success: aborted };
  });

  addRunRoutes(server, access);
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
  return reply.type('application/json; charset=utf-8').send(Readable.from(write(), { highWaterMark: 1 }));
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

function addRunRoutes(server: Server, access: RunAccess): void {
  const follow = route('Follow a run', {
    description:
      'Replays the frames after `after` (or `Last-Event-ID`) as Server-Sent Events and follows the run to its end.',
    params: runParamsSchema,
    querystring: runQuerySchema,
    response: { 200: { description: 'The frames', content: { 'text/event-stream': { schema: sseEventSchema } } } },
  });
  server.get('/runs/:runId', { schema: follow }, async (request, reply) => {
    const { did } = identityOf(request);
    const { runId } = request.params;
    // An EventSource that reconnects repeats its first address; what it has read since is in the header.
    const lastRead = frameNumberSchema.safeParse(request.headers['last-event-id']).data ?? 0;
    const after = Math.max(request.query.after ?? 0, lastRead);
    const { messageId, frames, leave } = await access.follow(did, runId, after);
    await sendFrames(reply, { runId, messageId, frames, after }).finally(leave);
    return reply;
  });

  const answer = route('Approve or refuse a tool call', {
    description: 'The same answer again changes nothing; another one is 409.',
    params: approvalParamsSchema,
    body: answerApprovalSchema,
    response: { 200: approvalReplySchema },
  });
  server.post('/runs/:runId/approvals/:approvalId', { config: { refuses: [409] }, schema: answer }, async (request) => {
    const by = { userDid: identityOf(request).did, from: clientAddress(request) };
    return { approval: await access.answerApproval({ ...request.params, ...request.body, ...by }) };
  });
}

/** Each of thousands of readers who take nothing holds so many, and the buffer of its connection. */
const chunkCharacters = 16 * 1024;

interface StreamOptions {
  runId: string;
  messageId: string;
  frames: FrameLog;
  after: number;
  heartbeatMs?: number;
}

/** Sends the frames after number `after` to the run's end. They wait in the run's log, so a slow reader costs no memory. */
export function sendFrames(reply: FastifyReply, options: StreamOptions): Promise<void> {
  const { runId, messageId, frames, after, heartbeatMs = agentLimits.heartbeatMs } = options;
  dropBody(reply.request);
  const headers = { 'x-run-id': runId, 'x-message-id': messageId };
  const stream = openEventStream(reply, { headers, heartbeatMs });
  if (!stream) return Promise.resolve();
  return new Promise((resolve) => {
    let sent = after;
    const pump = () => {
      if (stream.writableEnded) return;
      while (!stream.writableNeedDrain) {
        const { text, last } = frames.read(sent, chunkCharacters);
        if (text === '') break;
        sent = last;
        stream.write(text);
      }
      if (frames.ended && sent >= frames.length && !stream.writableNeedDrain) {
        unwatch();
        stream.end(sent === after ? frames.endAfter(sent) : '');
      }
    };
    const unwatch = frames.watch(pump);
    stream.on('drain', pump);
    stream.once('close', () => {
      unwatch();
      resolve();
    });
    pump();
    // A reader that has everything so far gets the headers at least, and so knows that it is connected.
    if (sent === after) stream.flushHeaders();
  });
}
