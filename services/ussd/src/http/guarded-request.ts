import { lookup as dnsLookup } from 'node:dns';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { readBounded } from '@palaver/service-kit/internal';
import { createHostLookup } from '@palaver/ucan/host-lookup';
import { guardLookup, isPublicAddress } from '@palaver/ucan/public-address';

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

/**
 * Asks a server that a program names: over TLS, at public addresses only, checked in the very lookup the connection uses.
 * Redirects are not followed. Whatever goes wrong is a result.
 */
export async function guardedRequest(options: GuardedRequest): Promise<GuardedAnswer> {
  const { url, method, headers, body, timeoutMs, allowedHosts } = options;
  const isAllowed = allowedHosts.includes(url.hostname) || allowedHosts.includes(url.host);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'https:' && !(isAllowed && url.protocol === 'http:')) return { fault: 'only https is allowed' };
  // An address in the URL itself is never looked up.
  if (!isAllowed && isIP(host) && !isPublicAddress(host)) return { fault: 'private addresses are not allowed' };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method,
      signal,
      agent: false,
      headers: { accept: 'application/json', 'accept-encoding': 'identity', ...headers },
      lookup: isAllowed ? dnsLookup : guardLookup(createHostLookup({ signal })),
    });
    // What goes wrong after the answer has begun reaches the reader of the body.
    request.on('error', () => {});
    request.end(body);
    const [response]: IncomingMessage[] = await once(request, 'response', { signal });
    if (!response) return { fault: 'no answer' };
    return { status: response.statusCode ?? 0, body: (await readBounded(response, maxBytes)).toString() };
  } catch (error) {
    return { fault: signal.aborted ? 'no answer in time' : (error as Error).message };
  }
}
