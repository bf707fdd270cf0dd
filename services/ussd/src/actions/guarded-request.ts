import { readBounded } from '@palaver/service-kit/internal';
import { isAllowedHost, openPublic } from '@palaver/ucan/open-public';

export interface GuardedRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  timeoutMs: number;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: readonly string[];
}

export type GuardedAnswer = { status: number; body: string } | { fault: string };

/** How programs reach servers. */
export type AskServer = (request: GuardedRequest) => Promise<GuardedAnswer>;

const maxBytes = 256_000;

/** Asks a server that a program names. Whatever goes wrong is a result. */
export async function guardedRequest({
  url,
  timeoutMs,
  allowedHosts,
  headers,
  ...request
}: GuardedRequest): Promise<GuardedAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const isAllowed = isAllowedHost(url, allowedHosts);
    const own = { accept: 'application/json', ...headers };
    const response = await openPublic(url, { ...request, headers: own, signal, isAllowed });
    return { status: response.statusCode ?? 0, body: (await readBounded(response, maxBytes)).toString() };
  } catch (error) {
    return { fault: signal.aborted ? 'no answer in time' : (error as Error).message };
  }
}
