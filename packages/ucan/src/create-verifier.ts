import { agentLimits, ucanLimits } from '@palaver/contract';
import { hashText } from '#crypto';
import type { Capability } from './capability.ts';
import {
  type ChainPolicy,
  checkDelegation,
  checkInvocation,
  checkSignIn,
  findExpiration,
  listChain,
} from './check-chain.ts';
import type { ResolveDid } from './did/resolve-did.ts';
import { LruMap } from './lru-map.ts';
import { parseToken } from './parse-token.ts';
import type { Awaitable, Result, UcanError } from './result.ts';
import type { UcanView } from './ucan-view.ts';
import { verifySignatures } from './verify-signatures.ts';

/** `revoked`: the token or one of its proofs is. `shared`: the token was sent downstream as a proof, so others may hold it. */
export type Standing = 'revoked' | 'shared';

/**
 * What a verifier accepts.
 *
 * @example
 * ```ts
 * import { createDidResolver, type VerifierOptions } from '@palaver/ucan';
 *
 * export const options: VerifierOptions = { audiences: ['did:key:z6Mk'], resolveDid: createDidResolver() };
 * ```
 */
export interface VerifierOptions {
  /** The DIDs of this service; one of them must be the audience of a token. They are also resources open to everyone. */
  readonly audiences: readonly string[];
  /** The longest lifetime of an invocation. */
  readonly maxTtlSeconds?: number;
  /** The longest lifetime of a delegation that signs its issuer in. */
  readonly delegationMaxTtlSeconds?: number;
  readonly clockSkewSeconds?: number;
  /** Finds the keys of issuers that are not did:key; without it they are refused. */
  readonly resolveDid?: ResolveDid;
  /** Called on every use, cached or not, with the token first and then its proofs. */
  readonly findStanding?: (chain: readonly IssuedToken[]) => Awaitable<Standing | undefined>;
  /** Whether an issuer may delegate another DID without a proof; always the same answer, by default false. */
  readonly canIssue?: (issuer: string, resource: string) => boolean;
  /** Milliseconds, like `Date.now`. */
  readonly now?: () => number;
  /** How many verified tokens are cached. */
  readonly cacheSize?: number;
}

export interface IssuedToken {
  readonly cid: string;
  readonly issuer: string;
}

/**
 * The content of a valid token.
 *
 * @example
 * ```ts
 * import type { VerifiedToken } from '@palaver/ucan';
 *
 * export const secondsLeft = ({ expiration }: VerifiedToken) => expiration - Date.now() / 1000;
 * ```
 */
export interface VerifiedToken {
  /** Who signed the token: the authenticated DID. */
  readonly did: string;
  /** Unix seconds: when the token, or the first of its proofs, expires. */
  readonly expiration: number;
  readonly cid: string;
  readonly capabilities: readonly Capability[];
  readonly view: UcanView;
}

/**
 * A valid token, or why it is refused.
 *
 * @example
 * ```ts
 * import type { Verdict } from '@palaver/ucan';
 *
 * export const whoIs = ({ ok, error }: Verdict) => ok?.did ?? `refused: ${error?.code}`;
 * ```
 */
export type Verdict = Result<VerifiedToken, UcanError>;

/**
 * Checks whether tokens are valid.
 *
 * @example
 * ```ts
 * import type { Verifier } from '@palaver/ucan';
 *
 * export const check = (verifier: Verifier, token: string) => verifier.verifySignIn(token);
 * ```
 */
export interface Verifier {
  /** `client` is the address the token came from, by which look-ups of unverified issuers are bounded. */
  verifyInvocation(token: string, client?: string): Promise<Verdict>;
  /** Checks a delegation; that alone does not sign anyone in. */
  verifyDelegation(token: string, client?: string): Promise<Verdict>;
  /** Checks a delegation that is used instead of an invocation. */
  verifySignIn(token: string, client?: string): Promise<Verdict>;
}

interface Check {
  readonly kind: keyof typeof checks;
  readonly token: string;
  /** Unix time. */
  readonly seconds: number;
  readonly client: string | undefined;
}

/** A verdict and the Unix second it holds until. */
interface TimedVerdict {
  readonly verdict: Verdict;
  readonly until: number;
}

// `from` is when it was reached: if the clock is set back, the token is checked again.
interface Remembered extends TimedVerdict {
  readonly from: number;
}

const defaultCacheSize = 5_000;
// A separate cache, so that many bad tokens cannot evict good ones.
const refusalCacheSize = 1_000;
/** How long a verdict that depends on a DID document is cached: its keys can change at any time. */
const resolvedSeconds = 60;
const forever = Number.POSITIVE_INFINITY;
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
    clockSkewSeconds = ucanLimits.clockSkewSeconds,
    resolveDid = async () => ({ error: { message: 'its issuer is not a did:key' } }),
    canIssue = () => false,
    now = Date.now,
  } = options;
  const audiences = new Set(options.audiences);
  const accepted = new LruMap<Remembered>(options.cacheSize ?? defaultCacheSize);
  const refused = new LruMap<Remembered>(refusalCacheSize);

  async function verify(kind: keyof typeof checks, token: string, client?: string): Promise<Verdict> {
    const seconds = now() / 1000;
    // It is refused for its length, so no hash is computed.
    if (token.length > agentLimits.tokenCharacters) return (await check({ kind, token, seconds, client })).verdict;
    const key = await hashText(`${kind} ${token}`);
    const known = recall(accepted, key, seconds) ?? recall(refused, key, seconds);
    if (known) return await checkStanding(kind, known);
    const { verdict, until } = await check({ kind, token, seconds, client });
    if (until > seconds) (verdict.ok ? accepted : refused).set(key, { verdict, from: seconds, until });
    return await checkStanding(kind, verdict);
  }

  async function check({ kind, token, seconds, client }: Check): Promise<TimedVerdict> {
    const parsed = await parseToken(token);
    if (parsed.error) return { verdict: parsed, until: forever };
    const view = parsed.ok;
    const limits = { maxTtlSeconds, delegationMaxTtlSeconds, clockSkewSeconds };
    const policy: ChainPolicy = { audiences, ...limits, canIssue, now: seconds };
    const refusal = checks[kind](view, policy);
    if (refusal) return { verdict: { error: refusal.error }, until: refusal.passing ? seconds : forever };
    const { error, resolved } = await verifySignatures(view, (did) => resolveDid(did, client));
    // If a DID document was resolved, a refusal is not cached, and an acceptance only for a short time.
    if (error) return { verdict: { error }, until: resolved ? seconds : forever };
    const expiration = findExpiration(view);
    const until = Math.min(expiration + clockSkewSeconds, resolved ? seconds + resolvedSeconds : forever);
    const { issuer: did, cid, capabilities } = view;
    return { verdict: { ok: { did, expiration, cid, capabilities, view } }, until };
  }

  async function checkStanding(kind: keyof typeof checks, verdict: Verdict): Promise<Verdict> {
    const standing = verdict.ok && (await options.findStanding?.(listChain(verdict.ok.view)));
    if (standing === 'revoked')
      return { error: { code: 'UCAN_NOT_ALLOWED', message: 'it has been revoked', revoked: true } };
    // A short-lived delegation would otherwise be accepted as an invocation too.
    if (standing === 'shared' && kind !== 'delegation')
      return { error: { code: 'UCAN_NOT_ALLOWED', message: 'it was sent to another service as a proof' } };
    return verdict;
  }

  return {
    verifyInvocation: (token, client) => verify('invocation', token, client),
    verifyDelegation: (token, client) => verify('delegation', token, client),
    verifySignIn: (token, client) => verify('signIn', token, client),
  };
}

function recall(cache: LruMap<Remembered>, key: string, seconds: number): Verdict | undefined {
  const known = cache.get(key);
  return known && known.from <= seconds && seconds < known.until ? known.verdict : undefined;
}
