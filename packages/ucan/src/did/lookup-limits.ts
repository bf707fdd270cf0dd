import { ucanLimits } from '@palaver/contract';
import { LRUCache } from 'lru-cache';

export interface LookupLimits {
  /** Takes a place for one lookup; gives what frees it, or null if there is none left. */
  enter(client: string | undefined): (() => void) | null;
}

interface ClientCount {
  minute: number;
  begun: number;
  underway: number;
}

const maxClients = 10_000;

/**
 * Bounds lookups that tokens cause before anyone is authenticated: all together, and for each client address at once and
 * in a minute.
 */
export function createLookupLimits(
  total: number,
  {
    perMinute = ucanLimits.lookupsPerMinute as number,
    now = Date.now,
  }: { perMinute?: number; now?: () => number } = {},
): LookupLimits {
  const clients = new LRUCache<string, ClientCount>({ max: maxClients });
  let underway = 0;

  function count(client: string): ClientCount {
    const minute = Math.floor(now() / 60_000);
    const known = clients.get(client) ?? { minute, begun: 0, underway: 0 };
    if (known.minute !== minute) Object.assign(known, { minute, begun: 0 });
    clients.set(client, known);
    return known;
  }

  return {
    enter(client) {
      const own = client === undefined ? undefined : count(client);
      if (underway >= total) return null;
      if (own && (own.begun >= perMinute || own.underway >= ucanLimits.lookupsUnderwayPerClient)) return null;
      underway += 1;
      if (own) {
        own.begun += 1;
        own.underway += 1;
      }
      return () => {
        underway -= 1;
        if (own) own.underway -= 1;
      };
    },
  };
}
