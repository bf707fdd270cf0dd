import type { Claims } from '../money/claims.ts';

/** A claim as a test of a program names it. */
export interface KeptClaim {
  claim: string;
  collection?: string;
  fields: Record<string, unknown>;
}

export interface KeptClaims extends Pick<Claims, 'add' | 'countSince'> {
  /** In the order in which the caller filed them. */
  of(phone: string): KeptClaim[];
}

/** Takes the claims of programs that are tried out: none reaches the protocol. */
export function createKeptClaims(): KeptClaims {
  const kept = new Map<string, KeptClaim & { phone: string }>();
  const of = (wanted: string) =>
    [...kept.values()].filter(({ phone }) => phone === wanted).map(({ phone: _, ...claim }) => claim);
  return {
    of,
    async add(_trx, { source, phone, collection, content: { filedAt: _, ...fields } }) {
      const [, claim = ''] = source.split(':');
      kept.set(source, { phone, claim, ...(collection !== undefined && { collection }), fields });
    },
    countSince: async (_trx, phone) => of(phone).length,
  };
}
