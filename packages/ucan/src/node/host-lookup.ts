import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';

export interface HostLookupOptions {
  /** Name servers (`address` or `address:port`) instead of the machine's. */
  readonly servers?: readonly string[];
  /** Ends the lookup at once. */
  readonly signal: AbortSignal;
}

const attemptMs = 1_000;
const attempts = 2;

/**
 * Looks up a host that a stranger named, through a resolver of its own (c-ares). `dns.lookup` would take one of the few
 * threads that the whole process shares and cannot be cancelled: names without an answer would starve everyone else.
 */
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
  const [four, six] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  return [
    ...(four ?? []).map((address) => ({ address, family: 4 as const })),
    ...(six ?? []).map((address) => ({ address, family: 6 as const })),
  ];
}
