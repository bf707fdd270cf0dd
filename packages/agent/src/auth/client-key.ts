import { BlockList, isIPv6 } from 'node:net';
import { clientAddress } from '@palaver/service-kit';
import { toAddressKey } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';

/** The key by which limits per client address count a request; undefined for an address that many users share. */
export type ClientKey = (request: Pick<FastifyRequest, 'ip' | 'socket'>) => string | undefined;

export function createClientKey(sharedCidrs: readonly string[] = []): ClientKey {
  const shared = new BlockList();
  for (const cidr of sharedCidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) shared.addAddress(address, family);
    else shared.addSubnet(address, Number(bits), family);
  }
  return (request) => {
    const address = clientAddress(request);
    return shared.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ? undefined : toAddressKey(address);
  };
}
