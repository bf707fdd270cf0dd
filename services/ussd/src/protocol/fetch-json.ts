import { fetchBounded } from '@palaver/service-kit/internal';

export interface FetchOptions {
  timeoutMs: number;
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: unknown;
}

export type FetchResult =
  | { ok: true; value: unknown }
  | { ok: false; status: number | undefined; reason: string; isTimeout?: boolean };

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
