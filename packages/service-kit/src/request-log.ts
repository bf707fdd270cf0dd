import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isRequestId, lookUpPrefix, parseJson } from '@palaver/contract/internal';
import type { FastifyInstance, onSendHookHandler } from 'fastify';
import { levels, symbols } from 'pino';
import { toAppError } from './errors.ts';
import type { Logger } from './logger.ts';
import { maskNumbers, maskText } from './mask.ts';

const callers = new WeakMap<IncomingMessage, string>();

export function nameCaller(request: IncomingMessage, name: string): void {
  callers.set(request, name);
}

export function callerOf(request: IncomingMessage): string | undefined {
  return callers.get(request);
}

interface AnsweredRequest {
  id: string;
  method: string;
  url: string;
  status: number;
  elapsedMs: number;
  caller?: string | undefined;
}

const { info = 0, debug = 0 } = levels.values;

/** Monitors poll these so often that good answers are logged at `debug`. */
const polled = new Set(['/health', '/ready', '/metrics']);

/** Builds the line itself: pino with child loggers and masks takes a quarter of a request's time (docs/decisions/http-server.md). */
export function createRequestLog(logger: Logger): (answered: AnsweredRequest) => void {
  const { [symbols.streamSym]: stream } = logger as unknown as { [symbols.streamSym]: { write(line: string): void } };
  const service = JSON.stringify(logger.bindings().service);
  let time = '';
  let at = 0;
  return ({ id, method, url, status, elapsedMs, caller }) => {
    const path = pathOf(url);
    const isQuiet = status < 400 && polled.has(path);
    if (logger.levelVal > (isQuiet ? debug : info)) return;
    const now = Date.now();
    if (now !== at) {
      at = now;
      time = new Date(now).toISOString();
    }
    const start = `{"level":"${isQuiet ? 'debug' : 'info'}","time":"${time}","service":${service},"requestId":`;
    const key = caller === undefined ? '' : `,"key":${quote(caller)}`;
    const ms = Math.round(elapsedMs * 10) / 10;
    stream.write(
      `${start}${quote(id)},"method":"${method}","path":${quote(path)},"status":${status},"ms":${ms}${key},"msg":"request"}\n`,
    );
  };
}

export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** Texts of clients may contain secrets. Nearly all are plain ids and paths, which cannot, and are not masked. */
function quote(text: string): string {
  return /^[\w/.:-]*$/.test(text) && !text.includes('://') ? `"${text}"` : maskText(JSON.stringify(text));
}

export function toRequestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return isRequestId(given) ? given : randomUUID();
}

export interface RecentError {
  time: string;
  ms: number;
  requestId: string;
  method: string;
  path: string;
  status: number;
  code?: string;
  message?: string;
}

/** What the client got as the reason. */
export type Told = { code: string; message: string };

export interface FailedRequest extends Omit<AnsweredRequest, 'id' | 'caller'> {
  requestId: string;
}

const longestError = 64 * 1024;

/** Nothing of an error in another form than ours. */
export function readTold(body: unknown): Told | undefined {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  if (!isText || body.length > longestError) return undefined;
  const { message, reason: code } = Object(parseJson(String(body))) as Record<string, unknown>;
  return typeof message === 'string' && typeof code === 'string' ? { code, message } : undefined;
}

const kept = 50;
const probes = ['/health', '/ready'];

const replies = new WeakMap<object, Told>();

/** For routes whose handlers answer errors themselves. */
export const noteAnsweredErrors: onSendHookHandler<unknown> = (request, { statusCode }, payload, done) => {
  const told = statusCode < 400 || replies.has(request) ? undefined : readTold(payload);
  if (told) replies.set(request, told);
  done(null, payload);
};

/** The last refusals and faults of this process. Faults have their own list: a flood of bad requests must not displace them. */
export function addRecentErrors(server: FastifyInstance, toKnown: (error: unknown) => unknown): () => RecentError[] {
  const refusals: RecentError[] = [];
  const faults: RecentError[] = [];
  server.addHook('onError', (request, _reply, error, done) => {
    const { code, message } = toAppError(toKnown(error));
    replies.set(request, { code, message });
    done();
  });
  server.decorate('noteFailure', ({ requestId, method, url, status, elapsedMs }, told) => {
    // The console may look up what is missing: that is no failure.
    if (status < 500 && requestId.startsWith(lookUpPrefix)) return;
    // Probes come every few seconds and would displace what they are about.
    if (probes.includes(pathOf(url))) return;
    const list = status >= 500 ? faults : refusals;
    const mask = (text: string, length: number) => maskNumbers(maskText(text)).slice(0, length);
    const time = new Date().toISOString();
    const failure = { time, ms: Math.ceil(elapsedMs), requestId, method, path: mask(pathOf(url), 200), status };
    list.push({ ...failure, ...(told && { code: told.code, message: mask(told.message, 300) }) });
    if (list.length > kept) list.shift();
  });
  return () => [...refusals, ...faults].sort((a, b) => b.time.localeCompare(a.time));
}

export function toldOf(request: object): Told | undefined {
  return replies.get(request);
}
