// Public types. They contain no types of ucanto, whose declarations do not compile with strict settings.
import type { Capability } from './capability.ts';

export interface UcanFields {
  readonly issuer: string;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  /** Unix seconds; null for a token that never expires. */
  readonly expiration: number | null;
  /** Unix seconds. */
  readonly notBefore: number | null;
  readonly nonce: string | null;
  readonly facts: readonly Readonly<Record<string, unknown>>[];
}

/**
 * A parsed token with its proofs. It is not verified: see `createVerifier`.
 *
 * @example
 * ```ts
 * import type { UcanView } from '@palaver/ucan';
 *
 * export const rootIssuers = ({ proofs, issuer }: UcanView): string[] =>
 *   proofs.length === 0 ? [issuer] : proofs.flatMap(rootIssuers);
 * ```
 */
export interface UcanView extends UcanFields {
  readonly cid: string;
  readonly proofs: readonly UcanView[];
  /** ucanto's own view of the same token, with its blocks: an `API.Delegation`. */
  readonly delegation: object;
}
