import type { Result } from '../result.ts';

export interface DocumentRequest {
  readonly url: string;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export type FetchedDocument = Result<unknown, { message: string }>;

const maxBytes = 64 * 1024;

/** Fetches a small JSON document: no redirects, no cookies, bounded in size and time. */
export async function fetchDocument({ url, timeoutMs, headers = {} }: DocumentRequest): Promise<FetchedDocument> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      redirect: 'error',
      credentials: 'omit',
      headers: { accept: 'application/json', ...headers },
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return unreachable(`status ${response.status}`);
    }
    return await readDocument(response.body ?? []);
  } catch {
    return unreachable(signal.aborted ? 'no answer in time' : 'no connection');
  }
}

/** Reads a body as JSON; leaving the loop early closes the stream. */
export async function readDocument(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FetchedDocument> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return unreachable('a document that is too large');
    text += decoder.decode(chunk, { stream: true });
  }
  try {
    return { ok: JSON.parse(text + decoder.decode()) };
  } catch {
    return unreachable('a document that is not JSON');
  }
}

export function unreachable(why: string): FetchedDocument {
  return { error: { message: `the DID document of its issuer could not be read: ${why}` } };
}
