import { agentLimits, ucanLimits } from '@palaver/contract';
import { LRUCache } from 'lru-cache';
import { hashText } from '#crypto';
import type { Capability, UcanView } from './capability.ts';
import {
  type ChainPolicy,
  type ChainRefusal,
  checkDelegation,
  checkInvocation,
  checkSignIn,
  createCheckAllowance,
  findExpiration,
  listChain,
} from './check-chain.ts';
import type { ResolveDid } from './did/resolve-did.ts';
import { parseToken } from './parse-token.ts';
import type { Awaitable, Result, UcanError } from './result.ts';
import { verifySignatures } from './verify-signatures.ts';

/** `revoked`: the token or one of its proofs. `shared`: it was sent downstream as a proof, so others may hold it. */
export type Standing = 'revoked' | 'shared';

/** What a verifier accepts. */
export interface VerifierOptions {
  /** The DIDs of this service; one of them must be the audience of a token. They are also resources open to everyone. */
  readonly audiences: readonly string[];
  /** The longest lifetime of an invocation. */
  readonly maxTtlSeconds?: number;
  /** The longest lifetime of a delegation that signs its issuer in. */
  readonly delegationMaxTtlSeconds?: number;
  /** Finds the keys of issuers that are not did:key; without it they are refused. */
  readonly resolveDid?: ResolveDid;
  /** Called on every use, cached or not, with the token first and then its proofs. */
  readonly findStanding?: (chain: readonly IssuedToken[]) => Awaitable<Standing | undefined>;
  /** Milliseconds, like `Date.now`. */
  readonly now?: () => number;
  /** How much memory verified tokens may take in the cache, roughly. */
  readonly cacheBytes?: number;
  /** How many KiB of tokens that are not in the cache one client may have checked in a minute. */
  readonly checkedKibPerMinute?: number;
}

export type IssuedToken = { readonly cid: string; readonly issuer: string };

/** The content of a valid token. */
export interface VerifiedToken {
  /** Who signed the token: the authenticated DID. */
  readonly did: string;
  /** Unix seconds: when the token, or the first of its proofs, expires. */
  readonly expiration: number;
  readonly cid: string;
  readonly capabilities: readonly Capability[];
  readonly view: UcanView;
}

/** A valid token, or why it is refused. */
export type Verdict = Result<VerifiedToken, UcanError>;

/** Checks whether tokens are valid. */
export interface Verifier {
  /** `client` is the address the token came from, by which checks and look-ups of unverified issuers are bounded. */
  verifyInvocation(token: string, client?: string): Promise<Verdict>;
  /** Checks a delegation; that alone does not sign anyone in. */
  verifyDelegation(token: string, client?: string): Promise<Verdict>;
  /** Checks a delegation that is used instead of an invocation. */
  verifySignIn(token: string, client?: string): Promise<Verdict>;
  /** Checks a token that may be an invocation, or a delegation that is used instead of one. */
  verifyBearer(token: string, client?: string): Promise<Verdict>;
}

type Kind = keyof typeof checks;

interface Check {
  /** What the token may be, in the order in which it is tried. */
  readonly kinds: readonly Kind[];
  readonly token: string;
  readonly client: string | undefined;
  readonly hash: string;
}

const defaultCacheBytes = 64 * 1024 * 1024;
/** A parsed token takes 11 to 13 times its length. */
const bytesPerCharacter = 16;
// A separate cache, so that many bad tokens cannot evict good ones.
const refusalCacheSize = 1_000;
/** How long a verdict that depends on a DID document is cached: its keys can change at any time. */
const resolvedSeconds = 60;
const checks = { invocation: checkInvocation, delegation: checkDelegation, signIn: checkSignIn };

/**
 * Checks whether tokens are valid, by the rules of the agent service. Verdicts are cached by the token's hash.
 *
 * @example
 * ```ts
 * import { createVerifier } from '@palaver/ucan';
 *
 * const verifier = createVerifier({ audiences: ['did:key:z6Mk'] });
 * export const isGood = async (token: string) => (await verifier.verifyInvocation(token)).ok !== undefined;
 * ```
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const {
    maxTtlSeconds = ucanLimits.maxTtlSeconds,
    delegationMaxTtlSeconds = ucanLimits.delegationMaxTtlSeconds,
    resolveDid = async () => ({ error: { message: 'its issuer is not a did:key' } }),
    now = Date.now,
  } = options;
  const audiences = new Set(options.audiences);
  const limits = { maxTtlSeconds, delegationMaxTtlSeconds };
  const allowance = createCheckAllowance(options.checkedKibPerMinute ?? ucanLimits.checkedKibPerMinute, now);
  // Signatures only: what a token is good for is checked at every use.
  const accepted = new LRUCache<string, Extract<Verdict, { readonly ok: VerifiedToken }>>({
    maxSize: options.cacheBytes ?? defaultCacheBytes,
    perf: { now },
    ttlResolution: 0,
  });
  // If the clock is set back to before `from`, the token is checked again.
  const refused = new LRUCache<string, { error: UcanError; from: number }>({ max: refusalCacheSize });

  async function verify(kinds: readonly Kind[], token: string, client?: string): Promise<Verdict> {
    // It is refused for its length, so no hash is computed.
    if (token.length > agentLimits.tokenCharacters)
      return await parseToken(token).then(({ error }) => ({ error: error as UcanError }));
    const hash = await hashText(token);
    const known = accepted.get(hash);
    if (known) {
      const chosen = choose(known.ok.view, kinds);
      return 'error' in chosen ? { error: chosen.error } : await checkStanding(chosen.kind, known);
    }
    const fault = refused.get(`${kinds} ${hash}`);
    return fault && fault.from <= now() ? { error: fault.error } : await check({ kinds, token, client, hash });
  }

  /** The first kind that the token is by everything but its signatures; otherwise why it is not. */
  function choose(view: UcanView, kinds: readonly Kind[]): { kind: Kind } | ChainRefusal {
    const policy: ChainPolicy = { audiences, ...limits, now: now() / 1000 };
    let first: ChainRefusal | undefined;
    for (const kind of kinds) {
      const refusal = checks[kind](view, policy);
      if (!refusal) return { kind };
      // A token that lives too long for an invocation is meant as a delegation.
      if (!first || first.error.code === 'UCAN_TTL_TOO_LONG')
        first = { ...refusal, passing: refusal.passing || (first?.passing ?? false) };
    }
    return first as ChainRefusal;
  }

  async function check({ kinds, token, client, hash }: Check): Promise<Verdict> {
    if (client !== undefined && !allowance.take(client, token.length)) return { error: tooManyChecks };
    const refuse = (error: UcanError, isFinal = true): Verdict => {
      if (isFinal) refused.set(`${kinds} ${hash}`, { error, from: now() });
      return { error };
    };
    const parsed = await parseToken(token);
    if (parsed.error) return refuse(parsed.error);
    const view = parsed.ok;
    const chosen = choose(view, kinds);
    if ('error' in chosen) return refuse(chosen.error, !chosen.passing);
    const { error, resolved } = await verifySignatures(view, (did) => resolveDid(did, client));
    // If a DID document was resolved, a refusal is not cached, and an acceptance only for a short time.
    if (error) return refuse(error, !resolved);
    const expiration = findExpiration(view);
    const { issuer: did, cid, capabilities } = view;
    const verdict = { ok: { did, expiration, cid, capabilities, view } };
    const tokenSeconds = expiration + ucanLimits.clockSkewSeconds - now() / 1000;
    const seconds = resolved ? Math.min(tokenSeconds, resolvedSeconds) : tokenSeconds;
    // The cache keeps for as long as `ttl`, and that millisecond too.
    const ttl = Math.floor(seconds * 1000) - 1;
    if (ttl > 0) accepted.set(hash, verdict, { ttl, size: token.length * bytesPerCharacter });
    return await checkStanding(chosen.kind, verdict);
  }

  async function checkStanding(kind: Kind, verdict: Verdict): Promise<Verdict> {
    const standing = verdict.ok && (await options.findStanding?.(listChain(verdict.ok.view)));
    if (standing === 'revoked')
      return { error: { code: 'UCAN_NOT_ALLOWED', message: 'it has been revoked', revoked: true } };
    // A short-lived delegation would otherwise be accepted as an invocation too.
    if (standing === 'shared' && kind !== 'delegation')
      return { error: { code: 'UCAN_NOT_ALLOWED', message: 'it was sent to another service as a proof' } };
    return verdict;
  }

  return {
    verifyInvocation: (token, client) => verify(['invocation'], token, client),
    verifyDelegation: (token, client) => verify(['delegation'], token, client),
    verifySignIn: (token, client) => verify(['signIn'], token, client),
    verifyBearer: (token, client) => verify(['invocation', 'signIn'], token, client),
  };
}

const tooManyChecks: UcanError = {
  code: 'UCAN_NOT_ALLOWED',
  message: 'too many tokens of this address are being checked',
  limited: true,
};
