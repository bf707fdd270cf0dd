import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';
import { envList } from './env-types.ts';

/** Fastify's `trustProxy`: never `true`, which trusts the address that the caller wrote. */
export type TrustProxy = false | string[] | ((address: string, hop: number) => boolean);

export function toTrustProxy(config: {
  TRUST_PROXY_ENABLED: boolean;
  TRUST_PROXY_HOPS: number;
  TRUST_PROXY_CIDRS?: string[] | undefined;
}): TrustProxy {
  if (!config.TRUST_PROXY_ENABLED) return false;
  return config.TRUST_PROXY_CIDRS ?? ((_address, hop) => hop < config.TRUST_PROXY_HOPS);
}

export function envCidrs() {
  return envList().refine(
    (list) => list.length > 0 && list.every(isCidr),
    'expected addresses or CIDR blocks, separated by commas',
  );
}

function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const width = isIPv6(address) ? 128 : 32;
  return (
    isIP(address) !== 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= width))
  );
}

/**
 * The client's address for allow lists and limits. A port behind it, which some proxies write and the client chooses, is dropped;
 * for what is no address at all the connection's own is used.
 *
 * @example
 * ```ts
 * import { clientAddress, type Server } from '@palaver/service-kit';
 *
 * export const addRoutes = (server: Server) => server.get('/me', async (request) => ({ address: clientAddress(request) }));
 * ```
 */
export function clientAddress(request: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // A client that has left already has no address any more.
  const ip = (request.ip as string | undefined) ?? '';
  if (isIPv4(ip)) return ip;
  const given = ip
    .replace(/^\[(.+)\](:\d+)?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(given) ? given : (request.socket.remoteAddress ?? 'unknown');
}

/** For a request that Fastify does not see, such as the handshake of a socket. */
export function createRawClientAddress(trust: TrustProxy): (request: IncomingMessage) => string {
  const isTrusted = trust === false ? () => false : typeof trust === 'function' ? trust : proxyAddress.compile(trust);
  return (request) => clientAddress({ ip: proxyAddress(request, isTrusted), socket: request.socket });
}

/** What a limit per address counts: an IPv6 client can choose from a whole /64 at least. */
export function toAddressKey(address: string): string {
  // An address without a colon is never IPv6, and `isIPv6` takes longer than the count itself.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('%')[0]?.split('::') ?? [];
  const front = head === '' ? [] : head.split(':');
  const back = tail ? tail.split(':') : [];
  const middle = tail === undefined ? [] : Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  return `${[...front, ...middle, ...back]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopbackAddress(text: string): boolean {
  const address = text.replace(/^::ffff:(?=\d+\.)/i, '');
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}
