import { BlockList, isIPv4, isIPv6, type LookupFunction } from 'node:net';

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

/** Whether an address is one of the public internet: not loopback, private, link-local or reserved. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !listOf(reserved4, 'ipv4').check(address, 'ipv4');
  // A zone (`fe80::1%eth0`) only goes with a local address.
  if (!isIPv6(address) || address.includes('%')) return false;
  return listOf([['2000::', 3]], 'ipv6').check(address, 'ipv6') && !listOf(reserved6, 'ipv6').check(address, 'ipv6');
}

/** A lookup that fails for a name with any private address. Given to the connection itself, it cannot be got round. */
export function guardLookup(lookup: LookupFunction): LookupFunction {
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
