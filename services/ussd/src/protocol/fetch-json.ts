import { traceHeaders } from '@palaver/service-kit';

export interface FetchOptions {
  timeoutMs: number;
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
  /** Of the answer. Default 1 MB. */
  maxBytes?: number;
}

export type FetchResult =
  | { ok: true; value: unknown }
  | { ok: false; status: number | undefined; reason: string; isTimeout?: boolean };

/** Asks another service. Whatever goes wrong there is a result: the menu has a sentence for it. */
export async function fetchJson(url: string, options: FetchOptions): Promise<FetchResult> {
  const { timeoutMs, method = 'GET', headers = {}, body, maxBytes = 1_000_000 } = options;
  try {
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...traceHeaders(),
        ...headers,
      },
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await readText(response, maxBytes);
    if (text === undefined) return { ok: false, status: response.status, reason: 'the answer is too large' };
    if (!response.ok) return { ok: false, status: response.status, reason: `status ${response.status}` };
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const { name, message, cause } = error as Error;
    if (name === 'TimeoutError') return { ok: false, status: undefined, reason: 'no answer in time', isTimeout: true };
    return { ok: false, status: undefined, reason: cause instanceof Error ? cause.message : message };
  }
}

async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  let size = 0;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
