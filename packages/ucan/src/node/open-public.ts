import { lookup as dnsLookup } from 'node:dns';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createHostLookup } from './host-lookup.ts';
import { guardLookup, isPublicAddress } from './public-address.ts';

export interface PublicRequest {
  readonly signal: AbortSignal;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether an operator named the host, so that it may be private and without TLS. */
  readonly isAllowed: boolean;
  /** Name servers instead of the machine's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Instead of name servers. */
  readonly lookup?: LookupFunction | undefined;
}

/** An address that may not be asked; the message says why. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
}

/** Whether an operator allowed a host, as `name` or `name:port`. */
export function isAllowedHost({ hostname, host }: URL, allowedHosts: readonly string[]): boolean {
  return allowedHosts.includes(hostname) || allowedHosts.includes(host);
}

/** Why an address may not be asked at all. */
export function findRefusal({ protocol, hostname }: URL, isAllowed: boolean): string | undefined {
  if (protocol !== 'https:' && !(isAllowed && protocol === 'http:')) return 'only https is allowed';
  // An address in the URL itself is never looked up.
  const host = hostname.replace(/^\[|\]$/g, '');
  return !isAllowed && isIP(host) && !isPublicAddress(host) ? 'private addresses are not allowed' : undefined;
}

/**
 * Asks a host that a stranger named: over TLS, at public addresses only, checked in the very lookup the connection uses, so a
 * name that answers differently the second time gains nothing. Redirects are not followed. The body of the answer is read or
 * destroyed by the caller.
 */
export async function openPublic(url: URL, options: PublicRequest): Promise<IncomingMessage> {
  const { signal, method = 'GET', headers, body, isAllowed, dnsServers = [] } = options;
  const refusal = findRefusal(url, isAllowed);
  if (refusal !== undefined) throw new RefusedAddressError(refusal);
  // A host that the operator named may be in the machine's own table of hosts.
  const lookup = options.lookup ?? (isAllowed ? dnsLookup : createHostLookup({ signal, servers: dnsServers }));
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method,
    signal,
    agent: false,
    headers: { 'accept-encoding': 'identity', ...headers },
    lookup: isAllowed ? lookup : guardLookup(lookup),
  });
  // What goes wrong after the answer has begun reaches the reader of the body; nobody else listens by then.
  request.on('error', () => {});
  request.end(body);
  const [response]: IncomingMessage[] = await once(request, 'response', { signal }).catch((error: Error) => {
    // A name with several addresses fails with all their errors and no message.
    throw error instanceof AggregateError ? error.errors[0] : error;
  });
  if (!response) throw new Error('there was no answer');
  return response;
}
