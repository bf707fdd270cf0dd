import { CBOR } from '@ucanto/core';
import { equalBytes } from './bytes.ts';

/** What may be done (`can`) with what (`with`), under which conditions (`nb`). */
export interface Capability {
  readonly can: string;
  readonly with: string;
  readonly nb?: Readonly<Record<string, unknown>> | undefined;
}

/** `*` grants everything, `a/*` everything under `a/`, anything else itself. */
export function coversAbility(granted: string, wanted: string): boolean {
  if (granted === '*' || granted === wanted) return true;
  return granted.endsWith('/*') && wanted.startsWith(granted.slice(0, -1));
}

/** The same resource, an ability no wider, and every condition unchanged; conditions may be added. */
export function coversCapability(granted: Capability, wanted: Capability): boolean {
  if (granted.with !== wanted.with || !coversAbility(granted.can, wanted.can)) return false;
  if (!granted.nb) return true;
  const conditions = encodeConditions(wanted.nb ?? {});
  return [...encodeConditions(granted.nb)].every(([name, value]) => {
    const other = conditions.get(name);
    return other !== undefined && equalBytes(value, other);
  });
}

/** Each is encoded once, however many others it is compared with. */
const encoded = new WeakMap<object, Map<string, Uint8Array>>();

function encodeConditions(conditions: Readonly<Record<string, unknown>>): Map<string, Uint8Array> {
  const known = encoded.get(conditions);
  if (known) return known;
  const made = new Map(Object.entries(conditions).map(([name, value]) => [name, CBOR.encode(value)]));
  encoded.set(conditions, made);
  return made;
}

/** Whether a token grants a capability. It says nothing about the token being good: verify first. */
export function hasCapability(token: { readonly capabilities: readonly Capability[] }, wanted: Capability): boolean {
  return token.capabilities.some((granted) => coversCapability(granted, wanted));
}

// Public types. They contain no types of ucanto, whose declarations do not compile with strict settings.

export interface UcanFields {
  readonly issuer: string;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  /** Unix seconds; null for a token that never expires. */
  readonly expiration: number | null;
  readonly notBefore: number | null;
  readonly nonce: string | null;
  readonly facts: readonly Readonly<Record<string, unknown>>[];
}

/** A parsed token with its proofs. It is not verified: see `createVerifier`. */
export interface UcanView extends UcanFields {
  readonly cid: string;
  readonly proofs: readonly UcanView[];
  /** ucanto's own view of the same token, with its blocks: an `API.Delegation`. */
  readonly delegation: object;
}
