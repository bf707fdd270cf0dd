import type { IncomingMessage } from 'node:http';
import { levels, symbols } from 'pino';
import type { Logger } from './logger.ts';
import { maskText } from './mask.ts';

/** Who asks, where a service knows it by a name that may be logged. */
const callers = new WeakMap<IncomingMessage, string>();

/** Puts the name of an API key on the request's log line. */
export function nameCaller(request: IncomingMessage, name: string): void {
  callers.set(request, name);
}

/** The name that was given to the caller of a request. */
export function callerOf(request: IncomingMessage): string | undefined {
  return callers.get(request);
}

export interface AnsweredRequest {
  id: string;
  method: string;
  url: string;
  status: number;
  elapsedMs: number;
  caller?: string | undefined;
}

const info = levels.values.info ?? 0;

type LineStream = { write(line: string): void };

/**
 * One line for each request, of the form of every other line. It is put together by hand and goes straight to the
 * logger's stream: through pino, with its child loggers and masks, it costs as much as the rest of a request.
 */
export function createRequestLog(logger: Logger): (answered: AnsweredRequest) => void {
  const { [symbols.streamSym]: stream } = logger as unknown as { [symbols.streamSym]: LineStream };
  const service = JSON.stringify(logger.bindings().service);
  let time = 0;
  let start = '';
  return ({ id, method, url, status, elapsedMs, caller }) => {
    if (logger.levelVal > info) return;
    const now = Date.now();
    if (now !== time) {
      time = now;
      start = `{"level":"info","time":"${new Date(now).toISOString()}","service":${service},"requestId":`;
    }
    const key = caller === undefined ? '' : `,"key":${quote(caller)}`;
    const ms = Math.round(elapsedMs * 10) / 10;
    stream.write(
      `${start}${quote(id)},"method":"${method}","path":${quote(pathOf(url))},"status":${status},"ms":${ms}${key},"msg":"request"}\n`,
    );
  };
}

export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** What clients write may hold what must not be logged; plain ids and paths, nearly all of them, need no second look. */
function quote(text: string): string {
  return /^[\w/.:-]*$/.test(text) && !text.includes('://') ? `"${text}"` : maskText(JSON.stringify(text));
}
