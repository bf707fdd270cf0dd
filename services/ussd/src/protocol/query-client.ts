import { createGatewayClient, type GatewayAccess, type GatewayResult } from '@palaver/protocol';
import { z } from 'zod';

/** One thing that was asked for, or why it cannot be had. */
export type Part<T> = { ok: true; value: T } | { ok: false; reason: string };

/** What the protocol knows of an address, each part by itself. */
export interface Holdings {
  coins: Part<string[]>;
  tokens: Part<string[]>;
  /** Claims this address submitted, by their evaluation. `isComplete` is false where there are more to look through. */
  claims: Part<{ total: number; approved: number; isComplete: boolean }>;
}

export interface QueryClient {
  /** The reason why the gateway does not answer, or `undefined` when it does. */
  findFault(): Promise<string | undefined>;
  /** The answer to a path of the gateway. */
  query(path: string): Promise<GatewayResult>;
  loadHoldings(address: string): Promise<Holdings>;
}

const balancesSchema = z.object({ balances: z.array(z.object({ denom: z.string(), amount: z.string() })) });
const claimsSchema = z.object({
  claims: z.array(z.object({ agent_address: z.string(), evaluation: z.object({ status: z.string() }).nullish() })),
  pagination: z.object({ next_key: z.string().nullish() }).nullish(),
});
const tokensSchema = z.object({ tokenDocs: z.array(z.object({ name: z.string() })) });

// The protocol has no list by agent, and lists claims in the order of their ids, which says nothing about their age.
const claimsPerPage = 500;
const maxPages = 10;
/** Telecom gateways wait for about ten seconds. */
const claimsMs = 4_000;

export function createQueryClient(access: GatewayAccess): QueryClient {
  const gateway = createGatewayClient(access);
  const get = async <T>(path: string, schema: z.ZodType<T>, query: Record<string, string> = {}): Promise<Part<T>> => {
    const result = await gateway.get(path, { query });
    if (!result.ok) return { ok: false, reason: `${path}: ${result.message}` };
    const parsed = schema.safeParse(result.value);
    return parsed.success ? { ok: true, value: parsed.data } : { ok: false, reason: `${path}: not what was expected` };
  };

  async function countClaims(address: string): Promise<Holdings['claims']> {
    const value = { total: 0, approved: 0, isComplete: false };
    const endsAt = Date.now() + claimsMs;
    let key: string | undefined;
    for (let page = 0; page < maxPages && Date.now() < endsAt; page += 1) {
      const query = { 'pagination.limit': String(claimsPerPage), ...(key && { 'pagination.key': key }) };
      const part = await get('/ixo/claims/claims', claimsSchema, query);
      if (!part.ok) return page === 0 ? part : { ok: true, value };
      const own = part.value.claims.filter((claim) => claim.agent_address === address);
      value.total += own.length;
      value.approved += own.filter((claim) => claim.evaluation?.status === 'APPROVED').length;
      key = part.value.pagination?.next_key ?? undefined;
      if (!key) return { ok: true, value: { ...value, isComplete: true } };
    }
    return { ok: true, value };
  }

  return {
    async findFault() {
      const result = await gateway.get('/cosmos/base/tendermint/v1beta1/syncing');
      return result.ok || result.kind === 'missing' || result.kind === 'unsupported' ? undefined : result.message;
    },
    query: (path) => gateway.get(path),
    async loadHoldings(address) {
      const at = encodeURIComponent(address);
      const [balances, claims, tokens] = await Promise.all([
        get(`/cosmos/bank/v1beta1/balances/${at}`, balancesSchema),
        countClaims(address),
        get(`/ixo/token/minter/${at}`, tokensSchema),
      ]);
      return {
        coins: mapPart(balances, (value) => value.balances.map(formatCoin)),
        tokens: mapPart(tokens, (value) => value.tokenDocs.map(({ name }) => name)),
        claims,
      };
    },
  };
}

function mapPart<T, R>(part: Part<T>, map: (value: T) => R): Part<R> {
  return part.ok ? { ok: true, value: map(part.value) } : part;
}

/** `38500000 uixo` is 38.5 IXO; bridged coins are shown by the start of their hash. */
export function formatCoin({ denom, amount }: { denom: string; amount: string }): string {
  const micro = /^u([a-z]{2,15})$/.exec(denom)?.[1];
  if (!micro) return `${amount} ${denom.startsWith('ibc/') ? `ibc/${denom.slice(4, 10)}` : denom}`;
  const padded = amount.padStart(7, '0');
  const decimals = padded.slice(-6).replace(/0+$/, '');
  return `${padded.slice(0, -6)}${decimals && `.${decimals}`} ${micro.toUpperCase()}`;
}
