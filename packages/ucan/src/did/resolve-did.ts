import { ucanLimits } from '@palaver/contract';
import { createMinuteWindows } from '@palaver/contract/internal';
import { LRUCache } from 'lru-cache';
import { type DidKeys, listSigningKeys, resolveWebDid } from './did-document.ts';
import { fromDidKey } from './did-key.ts';
import { fetchDocument } from './fetch-document.ts';

/** `client` is the address that the token came from: what it may cause to be looked up is bounded. */
export type ResolveDid = (did: string, client?: string) => Promise<DidKeys>;

interface DidResolverOptions {
  /** The query gateway that knows protocol DIDs; without it they are refused. */
  readonly gatewayUrl?: string;
  /** Where it serves what the protocol has under `/ixo`. */
  readonly gatewayPrefix?: string;
  /** What it asks for before it answers. */
  readonly gatewayHeaders?: Readonly<Record<string, string>>;
  /** Hosts (`host` or `host:port`) of did:web that may have a private address; only of use inside one network. */
  readonly privateHosts?: readonly string[];
  /** Name servers for hosts of did:web instead of the machine's; not in browsers. */
  readonly dnsServers?: readonly string[];
  readonly timeoutMs?: number;
  /** How many DIDs that are not known yet one client may ask for in a minute. */
  readonly lookupsPerMinute?: number;
  /** Milliseconds, like `Date.now`. */
  readonly now?: () => number;
}

// A cache keeps a millisecond longer than its time to live.
const keptMs = 5 * 60_000 - 1;
const failureKeptMs = 10_000 - 1;
const maxKept = 1_000;
// Each way of lookup has its own places: names that never answer must not keep protocol DIDs waiting.
const maxUnderway = { web: 32, protocol: 64 };

/**
 * Resolves did:key locally, did:web over HTTPS and every other method through the query gateway, with a cache.
 *
 * @example
 * ```ts
 * import { createDidResolver } from '@palaver/ucan';
 *
 * const resolveDid = createDidResolver({ gatewayUrl: 'http://127.0.0.1:1317' });
 * console.log((await resolveDid('did:web:farm.example')).ok);
 * ```
 */
export function createDidResolver(options: DidResolverOptions = {}): ResolveDid {
  const {
    gatewayUrl,
    gatewayPrefix = '/ixo',
    gatewayHeaders = {},
    privateHosts = [],
    dnsServers = [],
    now = Date.now,
  } = options;
  const timeoutMs = options.timeoutMs ?? ucanLimits.resolveTimeoutMs;
  const perMinute = options.lookupsPerMinute ?? ucanLimits.lookupsPerMinute;
  const clock = { max: maxKept, perf: { now }, ttlResolution: 0 };
  const kept = new LRUCache<string, DidKeys>({ ...clock, ttl: keptMs });
  // Apart from the good ones, so that a flood of made-up names cannot push those out.
  const failed = new LRUCache<string, DidKeys>({ ...clock, ttl: failureKeptMs });
  const underway = new Map<string, Promise<DidKeys>>();
  const limits = {
    web: createLookupLimits(maxUnderway.web, { perMinute, now }),
    protocol: createLookupLimits(maxUnderway.protocol, { perMinute, now }),
  };

  async function look(did: string): Promise<DidKeys> {
    if (did.startsWith('did:web:')) return await resolveWebDid({ did, privateHosts, dnsServers, timeoutMs });
    if (!gatewayUrl) return { error: { message: 'there is no resolver for its issuer' } };
    // Colons are data in the last segment; everything else that could end it is escaped.
    const id = encodeURIComponent(did).replaceAll('%3A', ':');
    const base = `${gatewayUrl.replace(/\/+$/, '')}${gatewayPrefix.replace(/\/+$/, '')}`;
    const { ok, error } = await fetchDocument({ url: `${base}/did/dids/${id}`, headers: gatewayHeaders, timeoutMs });
    return error ? { error } : listSigningKeys(unwrap(ok), did);
  }

  async function lookAndKeep(did: string): Promise<DidKeys> {
    const keys = await look(did);
    (keys.ok ? kept : failed).set(did, keys);
    return keys;
  }

  return async (did, client) => {
    if (did.startsWith('did:key:'))
      return fromDidKey(did) ? { ok: [did] } : { error: { message: 'its issuer is not an Ed25519 key' } };
    const known = kept.get(did) ?? failed.get(did) ?? underway.get(did);
    if (known) return await known;
    const leave = limits[did.startsWith('did:web:') ? 'web' : 'protocol'].enter(client);
    if (!leave) return { error: { message: 'too many issuers are being looked up', limited: true } };
    const lookup = lookAndKeep(did).finally(() => {
      underway.delete(did);
      leave();
    });
    underway.set(did, lookup);
    return await lookup;
  };
}

// Chains of different age name the one field of the answer differently.
function unwrap(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  const { iidDocument, didDocument, document } = answer as Record<string, unknown>;
  return iidDocument ?? didDocument ?? document ?? answer;
}

const maxClients = 10_000;

/** Bounds the lookups that unauthenticated tokens cause: all together, and for each address at once and in any 60 seconds. */
export function createLookupLimits(total: number, options: { perMinute?: number; now?: () => number } = {}) {
  const { perMinute = ucanLimits.lookupsPerMinute, now = Date.now } = options;
  const begun = createMinuteWindows({ now, maxKeys: maxClients });
  /** Clients with a lookup underway, so at most `total`. */
  const underwayOf = new Map<string, number>();
  let underway = 0;

  return {
    /** Takes a place for one lookup; returns the function that frees it, or null if there is none left. */
    enter(client: string | undefined): (() => void) | null {
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
