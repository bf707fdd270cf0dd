import { z } from 'zod';
import { type FetchResult, fetchJson } from './fetch-json.ts';

/** What the protocol knows of an address. */
export interface Holdings {
  coins: string[];
  tokens: string[];
  /** Claims this address submitted, by their evaluation. */
  claims: { total: number; approved: number };
}

export type HoldingsResult = { ok: true; holdings: Holdings } | { ok: false; reason: string };

export interface QueryClient {
  /** The reason why the gateway does not answer, or `undefined` when it does. */
  findFault(): Promise<string | undefined>;
  loadHoldings(address: string): Promise<HoldingsResult>;
  /** The answer to a path of the gateway. */
  query(path: string): Promise<FetchResult>;
}

const balancesSchema = z.object({ balances: z.array(z.object({ denom: z.string(), amount: z.string() })) });
const claimsSchema = z.object({
  claims: z.array(z.object({ agent_address: z.string(), evaluation: z.object({ status: z.string() }).nullish() })),
});
const tokensSchema = z.object({ tokenDocs: z.array(z.object({ name: z.string() })) });

const timeoutMs = 3_000;
/** The newest claims of the whole protocol that are looked through; the protocol has no list by agent. */
const claimsSeen = 1_000;

export function createQueryClient(gatewayUrl: string): QueryClient {
  const get = async <T>(path: string, schema: z.ZodType<T>): Promise<T> => {
    const result = await fetchJson(`${gatewayUrl}${path}`, { timeoutMs });
    if (!result.ok) throw new Error(`${path}: ${result.reason}`);
    return schema.parse(result.value);
  };
  return {
    async findFault() {
      const result = await fetchJson(`${gatewayUrl}/health`, { timeoutMs });
      return result.ok ? undefined : result.reason;
    },
    query: (path) => fetchJson(`${gatewayUrl}${path}`, { timeoutMs }),
    async loadHoldings(address) {
      const at = encodeURIComponent(address);
      try {
        const [balances, claims, tokens] = await Promise.all([
          get(`/cosmos/bank/v1beta1/balances/${at}`, balancesSchema),
          get(`/ixo/claims/claims?pagination.limit=${claimsSeen}&pagination.reverse=true`, claimsSchema),
          get(`/ixo/token/minter/${at}`, tokensSchema),
        ]);
        const own = claims.claims.filter((claim) => claim.agent_address === address);
        const approved = own.filter((claim) => claim.evaluation?.status === 'APPROVED').length;
        return {
          ok: true,
          holdings: {
            coins: balances.balances.map(formatCoin),
            tokens: tokens.tokenDocs.map(({ name }) => name),
            claims: { total: own.length, approved },
          },
        };
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** `38500000 uixo` is 38.5 IXO; bridged coins are shown by the start of their hash. */
export function formatCoin({ denom, amount }: { denom: string; amount: string }): string {
  const micro = /^u([a-z]{2,15})$/.exec(denom)?.[1];
  if (!micro) return `${amount} ${denom.startsWith('ibc/') ? `ibc/${denom.slice(4, 10)}` : denom}`;
  const padded = amount.padStart(7, '0');
  const decimals = padded.slice(-6).replace(/0+$/, '');
  return `${padded.slice(0, -6)}${decimals && `.${decimals}`} ${micro.toUpperCase()}`;
}
