import { CBOR } from '@ucanto/core';
import { equalBytes } from './bytes.ts';

/**
 * What may be done (`can`) with what (`with`), under which conditions (`nb`).
 *
 * @example
 * ```ts
 * import type { Capability } from '@palaver/agent';
 *
 * export const read: Capability = { can: 'herd/read', with: 'ixo:herd' };
 * ```
 */
export interface Capability {
  readonly can: string;
  readonly with: string;
  readonly nb?: Readonly<Record<string, unknown>>;
}

/** `*` grants everything, `a/*` everything under `a/`, anything else itself. */
export function coversAbility(granted: string, wanted: string): boolean {
  if (granted === '*' || granted === wanted) return true;
  return granted.endsWith('/*') && wanted.startsWith(granted.slice(0, -1));
}

/**
 * Whether one capability allows the other: an ability no wider, the same resource, and every condition unchanged.
 * Conditions may be added, never dropped or changed.
 */
export function coversCapability(granted: Capability, wanted: Capability): boolean {
  if (granted.with !== wanted.with || !coversAbility(granted.can, wanted.can)) return false;
  const conditions = wanted.nb ?? {};
  return Object.entries(granted.nb ?? {}).every(
    ([name, value]) => Object.hasOwn(conditions, name) && equalBytes(CBOR.encode(value), CBOR.encode(conditions[name])),
  );
}

/** Whether a token grants a capability. It says nothing about the token being good: verify first. */
export function hasCapability(token: { readonly capabilities: readonly Capability[] }, wanted: Capability): boolean {
  return token.capabilities.some((granted) => coversCapability(granted, wanted));
}
