import type { ChatMessage } from '../core/chat-message.ts';
import { createRandomId } from '../core/random-id.ts';
import type { SocketChannelOptions } from '../core/socket-channel.ts';
import type { Attachment, Memory, Session, SocketEvent, WireMessage } from '../core/wire.ts';
import {
  type ClientOutcome,
  type FakeAgentOptions,
  type FakeMessage,
  type FakeRun,
  type FakeStep,
  startFakeRun,
  toSteps,
} from './fake-run.ts';

export interface FakeRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: what the library itself sends.
  body: any;
  headers: Headers;
  signal?: AbortSignal | null | undefined;
}

export interface RouteParts extends Required<Pick<FakeAgentOptions, 'answers' | 'models'>> {
  sessions: FakeSessions;
  messages: FakeMessage[];
}

type Handler = (request: FakeRequest, ids: string[]) => Response;

export function createFakeRoutes(parts: RouteParts): (request: FakeRequest) => Response {
  const { sessions, models } = parts;
  const memories: Memory[] = [];
  let isAuthorized = false;
  const sessionOf = (id = '') => sessions.find(id) ?? refuse(404, 'SESSION_NOT_FOUND', 'There is no such session.');

  const handlers: Record<string, Handler> = {
    'GET /sessions': ({ query }) => json(toPage('sessions', sessions.list(), query)),
    'POST /sessions': ({ body }) => json(sessions.create(body?.title), 201),
    'POST /sessions/*/fork': ({ body }, [id]) => {
      const { session, messages } = sessionOf(id);
      const last = messages.findIndex((message) => message.id === body.messageId);
      if (last < 0) refuse(404, 'NOT_FOUND', 'There is no such message in this session.');
      return json(sessions.create(session.title, messages.slice(0, last + 1)), 201);
    },
    'DELETE /sessions/*': (_request, [id = '']) => {
      sessionOf(id);
      sessions.remove(id);
      return json({ ok: true, sessionId: id });
    },
    'GET /sessions/*/messages': (_request, [id]) => {
      const { messages } = sessionOf(id);
      return json({ messages, prevCursor: null, nextCursor: null, hasOlder: false, hasNewer: false });
    },
    'GET /sessions/*/run': (_request, [id]) => {
      const { run } = sessionOf(id);
      return json({ run: run ? { runId: run.runId, status: 'running' } : null });
    },
    'POST /messages/abort': ({ body }) => {
      const { run } = sessionOf(body.sessionId);
      run?.abort();
      return json({ ok: true, aborted: run !== undefined });
    },
    'POST /messages/*': (request, [id = '']) => answer(parts, request, { id, found: sessionOf(id) }),
    'GET /runs/*': ({ query, signal }, [id = '']) => {
      const run = sessions.findRun(id) ?? refuse(404, 'RUN_NOT_FOUND', 'There is no such run.');
      return stream(run, Number(query.get('after') ?? 0), signal);
    },
    'POST /runs/*/approvals/*': ({ body }, [id = '', approvalId = '']) => {
      const approval = sessions.findRun(id)?.answerApproval(approvalId, body);
      return json({ approval: approval ?? refuse(404, 'APPROVAL_NOT_FOUND', 'Nothing waits for this approval.') });
    },
    'GET /delegation': () => json({ authorized: isAuthorized }),
    'POST /delegation': () => {
      isAuthorized = true;
      return json({ ok: true });
    },
    'GET /models': () => json({ models, default: models[0]?.id ?? '' }),
    'POST /files': ({ query, headers, body }) => {
      const filename = query.get('filename') ?? '';
      const mimetype = headers.get('content-type') ?? 'application/octet-stream';
      return json({ fileId: createRandomId(), filename, mimetype, size: body?.size ?? 0, createdAt: now() }, 201);
    },
    'GET /memory': ({ query }) => {
      const wanted = (query.get('query') ?? '').toLowerCase();
      const found = memories.filter(({ text }) => text.toLowerCase().includes(wanted));
      return json(toPage('memories', found, query));
    },
    'POST /memory': ({ body }) => {
      const memory: Memory = { id: createRandomId(), kind: 'fact', ...body, createdAt: now() };
      memories.unshift(memory);
      return json(memory, 201);
    },
    'DELETE /memory/*': (_request, [id]) => {
      const at = memories.findIndex((memory) => memory.id === id);
      if (at < 0) refuse(404, 'NOT_FOUND', 'There is no such memory.');
      memories.splice(at, 1);
      return json({ ok: true });
    },
  };
  const routes = Object.entries(handlers).map(([name, handle]) => ({
    pattern: new RegExp(`^${name.replaceAll('*', '([^/]+)')}$`),
    handle,
  }));

  return (request) => {
    for (const { pattern, handle } of routes) {
      const match = pattern.exec(`${request.method} ${request.path}`);
      if (!match) continue;
      try {
        return handle(request, match.slice(1).map(decodeURIComponent));
      } catch (refusal) {
        if (refusal instanceof Response) return refusal;
        throw refusal;
      }
    }
    return toRefusal(404, 'NOT_FOUND', `There is no ${request.method} ${request.path} here.`);
  };
}

function answer(
  { sessions, answers, messages }: RouteParts,
  { body, headers: sent, signal }: FakeRequest,
  { id, found }: { id: string; found: NonNullable<ReturnType<FakeSessions['find']>> },
): Response {
  const message: FakeMessage = { sessionId: id, message: body.message, body };
  messages.push(message);
  const scripted = typeof answers === 'function' ? answers : answers[messages.length - 1];
  const noAnswer = {
    error: { code: 'SCRIPT_ENDED', message: `No answer is scripted for message ${messages.length}.` },
  };
  const steps = toSteps(scripted ?? noAnswer, message);
  const [first] = steps;
  if (typeof first === 'object' && 'refuse' in first) {
    const { status, code, message: text = code, retryAfterSeconds, details } = first.refuse;
    const headers = retryAfterSeconds !== undefined && { 'retry-after': `${retryAfterSeconds}` };
    throw toRefusal(status, code, text, { details, ...(headers && { headers }) });
  }
  const run = sessions.begin(found, steps, message, sent.get('x-request-id') ?? createRandomId());
  return stream(run, 0, signal);
}

function stream(run: FakeRun, after: number, signal: FakeRequest['signal']): Response {
  const headers = { 'content-type': 'text/event-stream', 'x-run-id': run.runId };
  return new Response(run.read(after, signal), { headers });
}

const now = () => new Date().toISOString();

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
}

function toPage<T>(name: string, all: readonly T[], query: URLSearchParams) {
  const [limit, offset] = [Number(query.get('limit') ?? 20), Number(query.get('offset') ?? 0)];
  return { [name]: all.slice(offset, offset + limit), total: all.length, limit, offset };
}

function toRefusal(
  statusCode: number,
  code: string,
  message: string,
  { details, headers = {} }: { details?: object | undefined; headers?: Record<string, string> } = {},
): Response {
  const body = JSON.stringify({ statusCode, error: code, message, code, ...details });
  return new Response(body, { status: statusCode, headers: { 'content-type': 'application/json', ...headers } });
}

function refuse(status: number, code: string, message: string): never {
  throw toRefusal(status, code, message);
}

interface Kept {
  session: Session;
  messages: WireMessage[];
  run: FakeRun | undefined;
}

type FakeSessions = ReturnType<typeof createFakeSessions>;

export function createFakeSessions(oracleDid: string) {
  const kept = new Map<string, Kept>();
  const runs = new Map<string, FakeRun>();
  const sockets = new Set<SocketChannelOptions>();
  const socketsOf = (sessionId: string) => [...sockets].filter((socket) => socket.sessionId === sessionId);

  function emit(event: SocketEvent, sessionId?: string): void {
    for (const socket of sessionId === undefined ? [...sockets] : socketsOf(sessionId)) socket.onEvent(event);
  }

  function end(found: Kept, { key: _key, storedId: _storedId, isStored: _isStored, ...answer }: ChatMessage): void {
    const { sessionId } = found.session;
    found.messages.push({ ...answer, status: answer.status as WireMessage['status'] });
    found.run = undefined;
    emit({ eventName: 'message_cache_invalidation', payload: { sessionId, messageId: answer.id } }, sessionId);
  }

  return {
    emit,
    find: (sessionId: string) => kept.get(sessionId),
    findRun: (runId: string) => runs.get(runId),
    list: () => [...kept.values()].map(({ session }) => session).reverse(),
    remove: (sessionId: string) => kept.delete(sessionId),
    create(title = 'New conversation', messages: WireMessage[] = []): Session {
      const now = new Date().toISOString();
      const names = { oracleName: 'Fake agent', oracleDid, roomId: createRandomId() };
      const session = { sessionId: createRandomId(), title, createdAt: now, lastUpdatedAt: now, ...names };
      kept.set(session.sessionId, { session, messages, run: undefined });
      return session;
    },

    connect(socket: SocketChannelOptions): () => void {
      sockets.add(socket);
      return () => sockets.delete(socket);
    },
    takeOutcome(toolCallId: string, outcome: ClientOutcome): void {
      for (const run of runs.values()) run.takeOutcome(toolCallId, outcome);
    },

    begin(found: Kept, steps: readonly FakeStep[], message: FakeMessage, requestId: string): FakeRun {
      const { body } = message;
      const question: WireMessage = {
        id: typeof body.messageId === 'string' ? body.messageId : createRandomId(),
        type: 'human',
        content: message.message,
        createdAt: new Date().toISOString(),
        status: 'complete',
        requestId,
        ...(Array.isArray(body.attachments) && { attachments: body.attachments as Attachment[] }),
        ...(typeof body.replaces === 'string' && { replaces: body.replaces }),
      };
      const replaced = found.messages.findIndex(({ id }) => id === body.replaces);
      if (replaced >= 0) found.messages.splice(replaced);
      found.messages.push(question);
      const run = startFakeRun({
        steps,
        message,
        requestId,
        userMessageId: question.id,
        sockets: () => socketsOf(message.sessionId),
        onEnd: (answer) => end(found, answer),
      });
      found.run = run;
      runs.set(run.runId, run);
      run.start();
      return run;
    },
  };
}
