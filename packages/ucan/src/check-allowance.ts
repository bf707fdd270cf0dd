import { LRUCache } from 'lru-cache';

export interface CheckAllowance {
  /** Takes what a token of that length costs; false if the client has used up its minute. */
  take(client: string, characters: number): boolean;
}

interface Spent {
  kib: number;
  at: number;
}

const maxClients = 10_000;

/**
 * Bounds what tokens cost before anyone is authenticated, for each client address. Anyone can make tokens that are good, and
 * their cost grows with their length, so it is the length that counts.
 */
export function createCheckAllowance(kibPerMinute: number, now: () => number): CheckAllowance {
  const clients = new LRUCache<string, Spent>({ max: maxClients });
  // Half at once and half over the minute: in no minute more than all of it.
  const half = kibPerMinute / 2;
  return {
    take(client, characters) {
      const at = now();
      const known = clients.get(client) ?? { kib: 0, at };
      const recovered = (Math.max(0, at - known.at) / 60_000) * half;
      const kib = Math.max(0, known.kib - recovered) + Math.max(characters / 1024, 0.25);
      if (kib > half) return false;
      clients.set(client, { kib, at });
      return true;
    },
  };
}
