import { traceHeaders } from '@palaver/service-kit';

export interface FetchOptions {
  timeoutMs: number;
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
}

export type FetchResult =
  | { ok: true; value: unknown }
  | { ok: false; status: number | undefined; reason: string; isTimeout?: boolean };

const defaultMaxBytes = 1_000_000;

/** Asks another service. Whatever goes wrong there is a result: the menu has a sentence for it. */
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
      signal: AbortSignal.timeout(timeoutMs),
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

/** The whole answer of another service, up to a size. Redirects are refused. */
export async function fetchBounded(
  url: string | URL | Request,
  init: RequestInit | undefined,
  maxBytes = defaultMaxBytes,
): Promise<Response> {
  const headers = { ...traceHeaders(), ...Object.fromEntries(new Headers(init?.headers)) };
  const response = await fetch(url, { ...init, headers, redirect: 'error' });
  let size = 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return new Response(response.body && Buffer.concat(chunks), response);
}
