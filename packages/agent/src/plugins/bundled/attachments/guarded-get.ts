import { lookup as dnsLookup } from 'node:dns';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import { isIP } from 'node:net';
import { createHostLookup } from '@palaver/ucan/host-lookup';
import { guardLookup, isPublicAddress } from '@palaver/ucan/public-address';

export interface GuardedGetOptions {
  token: string | undefined;
  signal: AbortSignal;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: string[];
  /** Name servers instead of the machine's. */
  dnsServers: string[];
  /** Called for every chunk; throws to end the transfer. */
  onBytes(count: number): void;
}

export interface GuardedReply {
  status: number;
  body: Buffer;
}

/** Why there is no answer, in words for the user. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

const maxRedirects = 3;

/**
 * Fetches from a host a stranger named: over TLS, from public addresses only, checked in the very lookup the connection
 * uses and again after every redirect. The token stays with the origin it was meant for.
 */
export async function guardedGet(start: URL, options: GuardedGetOptions): Promise<GuardedReply> {
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const token = url.origin === start.origin ? options.token : undefined;
    const response = await open(url, { ...options, token, isAllowed: isAllowedFrom(start, url, options.allowedHosts) });
    const { statusCode: status = 0 } = response;
    const { location } = response.headers;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, url.href)) {
      response.destroy();
      url = new URL(location, url);
      continue;
    }
    return { status, body: await readBody(response, options.onBytes) };
  }
  throw new UnreachableError('it is redirected too often');
}

/** Whether a host may be private. Redirects of strangers lead to none: they would choose the path and the port on it. */
export function isAllowedFrom(start: URL, url: URL, allowedHosts: string[]): boolean {
  return [start, url].every(({ hostname, host }) => allowedHosts.includes(hostname) || allowedHosts.includes(host));
}

async function open(
  url: URL,
  { token, signal, isAllowed, dnsServers }: GuardedGetOptions & { isAllowed: boolean },
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'https:' && !(isAllowed && url.protocol === 'http:'))
    throw new UnreachableError('only https is allowed');
  // An address in the URL itself is never looked up.
  if (!isAllowed && isIP(host) && !isPublicAddress(host))
    throw new UnreachableError('private addresses are not allowed');
  const get = url.protocol === 'https:' ? httpsGet : httpGet;
  const request = get(url, {
    signal,
    agent: false,
    headers: { accept: '*/*', 'accept-encoding': 'identity', ...(token && { authorization: `Bearer ${token}` }) },
    lookup: isAllowed ? dnsLookup : guardLookup(createHostLookup({ signal, servers: dnsServers })),
  });
  // What goes wrong after the answer has begun reaches the reader of the body; nobody else listens by then.
  request.on('error', () => {});
  const [response]: IncomingMessage[] = await once(request, 'response', { signal });
  if (!response) throw new UnreachableError('there was no answer');
  return response;
}

async function readBody(response: IncomingMessage, onBytes: (count: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // Leaving the loop early, as by a limit, closes the connection.
  for await (const chunk of response) {
    onBytes(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
