import { unescape as decodeEscapes } from 'node:querystring';
import { traceHeaders } from './tracing.ts';

export interface BoundedInit extends RequestInit {
  timeoutMs: number;
  maxBytes?: number | undefined;
}

export class AnswerTooLargeError extends RangeError {
  override readonly name = 'AnswerTooLargeError';
  readonly status: number | undefined;
  constructor(maxBytes: number, status?: number) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.status = status;
  }
}

/** The user and password of a URL as a header, and the URL without them: `fetch` refuses URLs that have them. */
export function splitCredentials(text: string): { url: string; headers: Record<string, string> } {
  const url = URL.parse(text);
  if (!url || (url.username === '' && url.password === '')) return { url: text, headers: {} };
  const user = `${decodeEscapes(url.username)}:${decodeEscapes(url.password)}`;
  Object.assign(url, { username: '', password: '' });
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` } };
}

/** Asks another server and reads its whole answer, within a time and a size. Redirects are refused unless `redirect` says otherwise. */
export async function fetchBounded(
  url: string | URL | Request,
  { timeoutMs, maxBytes = 1_000_000, signal, headers, ...init }: BoundedInit,
): Promise<Response> {
  const late = AbortSignal.timeout(timeoutMs);
  const { url: address, headers: credentials } =
    url instanceof Request ? { url, headers: {} } : splitCredentials(String(url));
  const response = await fetch(address, {
    redirect: 'error',
    ...init,
    headers: { ...traceHeaders(), ...credentials, ...Object.fromEntries(new Headers(headers)) },
    signal: signal ? AbortSignal.any([signal, late]) : late,
  });
  const body = await readBounded(response.body ?? [], maxBytes, response.status);
  return new Response(response.body && body, response);
}

/** Leaving the loop early closes the connection. */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  status?: number,
): Promise<Buffer<ArrayBuffer>> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new AnswerTooLargeError(maxBytes, status);
    read.push(chunk);
  }
  return Buffer.concat(read);
}

/** For libraries that read an answer as it comes, with their own deadlines: a line without end would fill the memory. */
export function limitResponses(fetch = globalThis.fetch, maxBytes = 32 * 1024 * 1024): typeof globalThis.fetch {
  return async (...args) => {
    const response = await fetch(...args);
    if (!response.body) return response;
    let bytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw new AnswerTooLargeError(maxBytes, response.status);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counter), response);
  };
}

export interface FetchOptions {
  timeoutMs: number;
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
}

export type FetchResult =
  | { ok: true; value: unknown }
  | { ok: false; status: number | undefined; reason: string; isTimeout?: boolean };

/** Whatever goes wrong is a result: the menu has a sentence for it. */
export async function fetchJson(url: string, options: FetchOptions): Promise<FetchResult> {
  const { timeoutMs, method = 'GET', headers = {}, body } = options;
  try {
    const response = await fetchBounded(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      timeoutMs,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) return { ok: false, status: response.status, reason: `status ${response.status}` };
    return { ok: true, value: await response.json() };
  } catch (error) {
    const { name, message, cause } = error as Error;
    if (name === 'TimeoutError') return { ok: false, status: undefined, reason: 'no answer in time', isTimeout: true };
    return { ok: false, status: undefined, reason: cause instanceof Error ? cause.message : message };
  }
}
