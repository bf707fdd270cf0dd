import { ucanLimits } from '@palaver/contract';
import { LRUCache } from 'lru-cache';
import { type Capability, coversAbility, coversCapability, type UcanView } from './capability.ts';
import type { UcanError, UcanErrorCode } from './result.ts';

/** What is checked of a chain besides its signatures. Times are Unix seconds. */
export interface ChainPolicy {
  readonly audiences: ReadonlySet<string>;
  readonly maxTtlSeconds: number;
  readonly delegationMaxTtlSeconds: number;
  readonly now: number;
}

export interface ChainRefusal {
  readonly error: UcanError;
  /** Whether time alone may lift it. */
  readonly passing: boolean;
}

/** The resource that stands for "this oracle, whichever it is". */
export const oracleResource = 'ixo:oracle';
const oracleAbility = 'oracle/*';
const { clockSkewSeconds } = ucanLimits;

/** The token first, then every proof under it, each once. */
export function listChain(view: UcanView): UcanView[] {
  const chain = new Map<string, UcanView>([[view.cid, view]]);
  // A Map's iteration also visits what is added on the way.
  for (const { proofs } of chain.values()) for (const proof of proofs) chain.set(proof.cid, proof);
  return [...chain.values()];
}

/** Unix seconds: when the token, or the first of its proofs, expires; infinity where none of them does. */
export function findExpiration(view: UcanView): number {
  return Math.min(...listChain(view).map(({ expiration }) => expiration ?? Number.POSITIVE_INFINITY));
}

export function checkInvocation(view: UcanView, policy: ChainPolicy): ChainRefusal | null {
  const isAsked = view.capabilities.every((capability) => isForOracle(capability, view.issuer, policy));
  return (
    checkEnvelope(view, policy) ??
    checkLifetime(view, policy.maxTtlSeconds, policy) ??
    (isAsked ? null : refuse('UCAN_NOT_ALLOWED', 'it asks for something else than the use of this oracle')) ??
    checkProofs(view, policy)
  );
}

/** A delegation in place of an invocation: one of what it grants must be the use of this oracle. */
export function checkSignIn(view: UcanView, policy: ChainPolicy): ChainRefusal | null {
  const isGranted = view.capabilities.some((capability) => isForOracle(capability, view.issuer, policy));
  return (
    checkEnvelope(view, policy) ??
    checkLifetime(view, policy.delegationMaxTtlSeconds, policy) ??
    (isGranted ? null : refuse('UCAN_NOT_ALLOWED', 'it does not grant the use of this oracle')) ??
    checkProofs(view, policy)
  );
}

/** Whether one of the issuers is in the chain that gives a token a capability. */
export function isGrantedBy(view: UcanView, capability: Capability, issuers: ReadonlySet<string>): boolean {
  // Each capability of each proof is followed once, however many ways lead to it.
  const followed = new Set<Capability>();
  const isFrom = ({ issuer, proofs }: UcanView, wanted: Capability): boolean => {
    if (issuers.has(issuer)) return true;
    return proofs.some((proof) =>
      proof.capabilities.some((granted) => {
        if (followed.has(granted) || !coversCapability(granted, wanted)) return false;
        followed.add(granted);
        return isFrom(proof, granted);
      }),
    );
  };
  return isFrom(view, capability);
}

export function checkDelegation(view: UcanView, policy: ChainPolicy): ChainRefusal | null {
  return checkEnvelope(view, policy) ?? checkProofs(view, policy);
}

function checkEnvelope(view: UcanView, policy: ChainPolicy): ChainRefusal | null {
  if (!policy.audiences.has(view.audience)) return refuse('UCAN_WRONG_AUDIENCE', 'it is for another audience');
  if (view.expiration === null) return refuse('UCAN_NO_EXPIRY', 'it never expires');
  if (isExpired(view, policy)) return refuse('UCAN_EXPIRED', 'it has expired');
  if (isEarly(view, policy)) return refuse('UCAN_NOT_YET_VALID', 'it is not valid yet', true);
  return null;
}

function checkLifetime({ expiration }: UcanView, maxSeconds: number, policy: ChainPolicy): ChainRefusal | null {
  if (expiration === null || expiration <= policy.now + maxSeconds + clockSkewSeconds) return null;
  return refuse('UCAN_TTL_TOO_LONG', `it expires more than ${maxSeconds} s ahead`, true);
}

function isForOracle({ can, with: resource }: Capability, issuer: string, { audiences }: ChainPolicy): boolean {
  const ability = can === '*' || coversAbility(oracleAbility, can);
  return ability && (resource === issuer || resource === oracleResource || audiences.has(resource));
}

function checkProofs(root: UcanView, policy: ChainPolicy): ChainRefusal | null {
  for (const view of listChain(root)) {
    for (const proof of view.proofs) {
      if (proof.audience !== view.issuer) return refuse('UCAN_BAD_PROOF', 'a proof is for another audience');
      if (isExpired(proof, policy)) return refuse('UCAN_BAD_PROOF', 'a proof has expired');
      if (isEarly(proof, policy)) return refuse('UCAN_BAD_PROOF', 'a proof is not valid yet', true);
    }
    if (!view.capabilities.every((capability) => isGranted(capability, view, policy)))
      return refuse('UCAN_BAD_PROOF', 'a capability is wider than its proofs');
  }
  return null;
}

// Every proof is checked in the same way, so one link back is enough. Attached proofs are what the issuer claims to act
// under, so they bind. Without any, the chain starts here: a DID belongs to that DID alone, this oracle is open to
// everyone, and only the service that serves another kind of URI can say who owns it.
function isGranted(capability: Capability, { issuer, proofs }: UcanView, policy: ChainPolicy): boolean {
  const resource = capability.with;
  if (resource === issuer) return true;
  if (proofs.length > 0)
    return proofs.some((proof) => proof.capabilities.some((granted) => coversCapability(granted, capability)));
  return !resource.startsWith('did:') || policy.audiences.has(resource);
}

function isExpired({ expiration }: UcanView, { now }: ChainPolicy): boolean {
  return expiration !== null && expiration + clockSkewSeconds <= now;
}

function isEarly({ notBefore }: UcanView, { now }: ChainPolicy): boolean {
  return notBefore !== null && notBefore - clockSkewSeconds > now;
}

function refuse(code: UcanErrorCode, message: string, passing = false): ChainRefusal {
  return { error: { code, message }, passing };
}

const maxClients = 10_000;

/** Bounds, for each client address, the length of tokens checked before anyone is authenticated: their cost grows with it. */
export function createCheckAllowance(kibPerMinute: number, now: () => number) {
  const clients = new LRUCache<string, { kib: number; at: number }>({ max: maxClients });
  // Half at once and half over the minute: no minute has more than all of it.
  const half = kibPerMinute / 2;
  return {
    /** Takes what a token of that length costs; false if the client has used up its minute. */
    take(client: string, characters: number): boolean {
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
