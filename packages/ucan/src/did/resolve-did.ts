import { ucanLimits } from '@palaver/contract';
import { LruMap } from '../lru-map.ts';
import type { DidKeys } from './did-document.ts';
import { fromDidKey } from './did-key.ts';
import { resolveProtocolDid } from './resolve-protocol-did.ts';
import { resolveWebDid } from './resolve-web-did.ts';

export type ResolveDid = (did: string) => Promise<DidKeys>;

export interface DidResolverOptions {
  /** The query gateway that knows protocol DIDs; without it they are refused. */
  readonly gatewayUrl?: string;
  /** Hosts (`host` or `host:port`) of did:web that may have a private address; only of use inside one network. */
  readonly privateHosts?: readonly string[];
  readonly timeoutMs?: number;
  /** Milliseconds, like `Date.now`. */
  readonly now?: () => number;
}

const keptMs = 5 * 60_000;
const failureKeptMs = 10_000;
const maxKept = 1_000;
const maxUnderway = 64;

/** Resolves did:key by itself, did:web over HTTPS and every other method through the query gateway, with a cache. */
export function createDidResolver(options: DidResolverOptions = {}): ResolveDid {
  const { gatewayUrl, privateHosts = [], timeoutMs = ucanLimits.resolveTimeoutMs, now = Date.now } = options;
  const kept = new LruMap<{ keys: DidKeys; until: number }>(maxKept);
  const underway = new Map<string, Promise<DidKeys>>();

  async function look(did: string): Promise<DidKeys> {
    if (did.startsWith('did:web:')) return await resolveWebDid({ did, privateHosts, timeoutMs });
    if (gatewayUrl) return await resolveProtocolDid({ did, gatewayUrl, timeoutMs });
    return { error: { message: 'there is no resolver for its issuer' } };
  }

  async function lookAndKeep(did: string): Promise<DidKeys> {
    try {
      const keys = await look(did);
      kept.set(did, { keys, until: now() + (keys.ok ? keptMs : failureKeptMs) });
      return keys;
    } finally {
      underway.delete(did);
    }
  }

  return async (did) => {
    if (did.startsWith('did:key:')) {
      return fromDidKey(did) ? { ok: [did] } : { error: { message: 'its issuer is not an Ed25519 key' } };
    }
    const known = kept.get(did);
    if (known && now() < known.until) return known.keys;
    const shared = underway.get(did);
    if (shared) return await shared;
    // Tokens name any host they like before anyone is authenticated: the sockets they can hold open are bounded.
    if (underway.size >= maxUnderway) return { error: { message: 'too many issuers are being looked up' } };
    const lookup = lookAndKeep(did);
    underway.set(did, lookup);
    return await lookup;
  };
}
