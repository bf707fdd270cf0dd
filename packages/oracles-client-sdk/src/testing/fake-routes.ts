import { createRandomId } from '../core/random-id.ts';
import type { Memory } from '../core/wire.ts';
import { type FakeAgentOptions, type FakeMessage, toSteps } from './fake-script.ts';
import type { FakeSessions } from './fake-sessions.ts';

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

/** The routes of an agent that the library uses. */
export function createFakeRoutes(parts: RouteParts): (request: FakeRequest) => Response {
  const { sessions, models } = parts;
  const memories: Memory[] = [];
  let isAuthorized = false;
  const sessionOf = (id = '') => sessions.find(id) ?? refuse(404, 'SESSION_NOT_FOUND', 'There is no such session.');

  const handlers: Record<string, Handler> = {
    'GET /sessions': ({ query }) => json(toPage('sessions', sessions.list(), query)),
    'POST /sessions': ({ body }) => json(sessions.create(body?.title), 201),
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
      return json(
        toPage(
          'memories',
          memories.filter(({ text }) => text.toLowerCase().includes(wanted)),
          query,
        ),
      );
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

type Readable = NonNullable<ReturnType<FakeSessions['findRun']>>;

function stream(run: Readable, after: number, signal: FakeRequest['signal']): Response {
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
