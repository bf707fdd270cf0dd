import { lookup as dnsLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';

interface PublicRequest {
  readonly signal: AbortSignal;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether an operator named the host, so that it may be private and without TLS. */
  readonly isAllowed: boolean;
  readonly dnsServers?: readonly string[] | undefined;
  readonly lookup?: LookupFunction | undefined;
}

export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
}

export function isAllowedHost({ hostname, host }: URL, allowedHosts: readonly string[]): boolean {
  return allowedHosts.includes(hostname) || allowedHosts.includes(host);
}

function findRefusal({ protocol, hostname }: URL, isAllowed: boolean): string | undefined {
  if (protocol !== 'https:' && !(isAllowed && protocol === 'http:')) return 'only https is allowed';
  // An address in the URL itself is never looked up.
  const host = hostname.replace(/^\[|\]$/g, '');
  return !isAllowed && isIP(host) && !isPublicAddress(host) ? 'private addresses are not allowed' : undefined;
}

// Asks a host that a stranger named: over TLS, at public addresses, no redirects. Callers read or destroy the body.
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
  // Errors after the answer has begun reach the reader of the body; nobody else listens by then.
  request.on('error', () => {});
  request.end(body);
  const [response]: IncomingMessage[] = await once(request, 'response', { signal }).catch((error: Error) => {
    // A name with several addresses fails with all their errors and no message.
    throw error instanceof AggregateError ? error.errors[0] : error;
  });
  if (!response) throw new Error('there was no answer');
  return response;
}

type HostLookupOptions = { readonly servers?: readonly string[]; readonly signal: AbortSignal };

const attemptMs = 1_000;
const attempts = 2;

/** Uses c-ares: `dns.lookup` takes one of the process's few shared threads and cannot be cancelled, so names without an answer would starve others. */
export function createHostLookup({ servers = [], signal }: HostLookupOptions): LookupFunction {
  return (hostname, { all }, callback) => {
    const resolver = new Resolver({ timeout: attemptMs, tries: attempts });
    if (servers.length > 0) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    findAddresses(resolver, hostname)
      .finally(() => signal.removeEventListener('abort', cancel))
      .then(
        (found) => {
          const [first] = found;
          if (!first) callback(new Error('the name has no address'), '', 0);
          else if (all) callback(null, found);
          else callback(null, first.address, first.family);
        },
        (error) => callback(error, '', 0),
      );
  };
}

async function findAddresses(resolver: Resolver, hostname: string): Promise<{ address: string; family: 4 | 6 }[]> {
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  return addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
}

// Everything the IANA registries of special-purpose addresses keep from the public internet.
const reserved4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
// Inside 2000::/3: what wraps an IPv4 address (6to4, Teredo), and what only documents or benchmarks.
const reserved6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

/** Not loopback, private, link-local or reserved. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !listOf(reserved4, 'ipv4').check(address, 'ipv4');
  // A zone (`fe80::1%eth0`) only goes with a local address.
  if (!isIPv6(address) || address.includes('%')) return false;
  return listOf([['2000::', 3]], 'ipv6').check(address, 'ipv6') && !listOf(reserved6, 'ipv6').check(address, 'ipv6');
}

/** Fails for a name with any private address. A check before connecting could get another answer. */
function guardLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, answer, family) => {
      if (error) return callback(error, answer, family);
      const addresses = typeof answer === 'string' ? [answer] : answer.map(({ address }) => address);
      if (addresses.every(isPublicAddress)) callback(null, answer, family);
      else callback(new Error('the name has a private address'), '', 0);
    });
  };
}

function listOf(ranges: [string, number][], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return list;
}
