import { ucanLimits } from '@palaver/contract';
import { createMinuteWindows } from '@palaver/contract/internal';

export interface LookupLimits {
  /** Takes a place for one lookup; gives what frees it, or null if there is none left. */
  enter(client: string | undefined): (() => void) | null;
}

const maxClients = 10_000;

/**
 * Bounds lookups that tokens cause before anyone is authenticated: all together, and for each client address at once and
 * in any 60 seconds.
 */
export function createLookupLimits(
  total: number,
  {
    perMinute = ucanLimits.lookupsPerMinute as number,
    now = Date.now,
  }: { perMinute?: number; now?: () => number } = {},
): LookupLimits {
  const begun = createMinuteWindows({ now, maxKeys: maxClients });
  /** Clients with a lookup underway, so at most `total`. */
  const underwayOf = new Map<string, number>();
  let underway = 0;

  return {
    enter(client) {
      if (underway >= total) return null;
      if (client !== undefined) {
        const own = underwayOf.get(client) ?? 0;
        if (own >= ucanLimits.lookupsUnderwayPerClient || begun.look(client).count >= perMinute) return null;
        begun.add(client);
        underwayOf.set(client, own + 1);
      }
      underway += 1;
      return () => {
        underway -= 1;
        if (client === undefined) return;
        const left = (underwayOf.get(client) ?? 0) - 1;
        if (left > 0) underwayOf.set(client, left);
        else underwayOf.delete(client);
      };
    },
  };
}
