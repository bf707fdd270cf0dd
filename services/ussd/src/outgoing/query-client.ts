import { createGatewayClient, type GatewayAccess } from '@palaver/protocol';
import { formatCoin } from '@palaver/protocol/internal';
import { z } from 'zod';

export type Part<T> = { ok: true; value: T } | { ok: false; reason: string };

export interface Holder {
  address: string;
  did: string | null;
}

const balancesSchema = z.object({ balances: z.array(z.object({ denom: z.string(), amount: z.string() })) });
const claimSchema = z.object({
  claim_id: z.string().default(''),
  agent_did: z.string().default(''),
  agent_address: z.string(),
  submission_date: z.string().nullish(),
  evaluation: z.object({ status: z.string() }).nullish(),
  payments_status: z.object({ approval: z.string() }).nullish(),
});
const claimsSchema = z.object({
  claims: z.array(claimSchema),
  pagination: z.object({ next_key: z.string().nullish() }).nullish(),
});
const tokensSchema = z.object({ tokenDocs: z.array(z.object({ name: z.string() })) });

// The protocol has no list by agent, and lists claims in the order of their ids, which says nothing about their age.
const claimsPerPage = 500;
const maxPages = 10;
/** Telecom gateways wait for about ten seconds. */
const claimsMs = 4_000;

export function createQueryClient(access: GatewayAccess) {
  const gateway = createGatewayClient(access);
  const get = async <T>(path: string, schema: z.ZodType<T>, query: Record<string, string> = {}): Promise<Part<T>> => {
    const result = await gateway.get(path, { query });
    if (!result.ok) return { ok: false, reason: `${path}: ${result.message}` };
    const parsed = schema.safeParse(result.value);
    return parsed.success ? { ok: true, value: parsed.data } : { ok: false, reason: `${path}: not what was expected` };
  };

  /** The newest first. The list comes by id, so all must be read to know them; `isComplete` is false if there are more. */
  async function listClaims({ address, did }: Holder) {
    const own: z.infer<typeof claimSchema>[] = [];
    const endsAt = Date.now() + claimsMs;
    let key: string | undefined;
    let isComplete = false;
    for (let page = 0; !isComplete && page < maxPages && Date.now() < endsAt; page += 1) {
      const query = { 'pagination.limit': String(claimsPerPage), ...(key && { 'pagination.key': key }) };
      const part = await get('/ixo/claims/claims', claimsSchema, query);
      if (!part.ok && page === 0) return part;
      if (!part.ok) break;
      own.push(...part.value.claims.filter((claim) => claim.agent_address === address || claim.agent_did === did));
      key = part.value.pagination?.next_key ?? undefined;
      isComplete = !key;
    }
    const approved = own.filter((claim) => claim.evaluation?.status === 'APPROVED').length;
    return {
      ok: true as const,
      value: { total: own.length, approved, isComplete, newest: own.map(toOwnClaim).toSorted(byDate) },
    };
  }

  return {
    async findFault() {
      const result = await gateway.get('/cosmos/base/tendermint/v1beta1/syncing');
      return result.ok || result.kind === 'missing' || result.kind === 'unsupported' ? undefined : result.message;
    },
    query: (path: string) => gateway.get(path),
    listClaims,
    async loadHoldings(holder: Holder) {
      const at = encodeURIComponent(holder.address);
      const [balances, claims, tokens] = await Promise.all([
        get(`/cosmos/bank/v1beta1/balances/${at}`, balancesSchema),
        listClaims(holder),
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

export type QueryClient = ReturnType<typeof createQueryClient>;

function toOwnClaim({ claim_id: id, submission_date, evaluation, payments_status }: z.infer<typeof claimSchema>) {
  const isPaid = payments_status?.approval === 'PAID';
  const approved = isPaid ? ('paid' as const) : ('approved' as const);
  const rejected = evaluation?.status === 'REJECTED' ? ('rejected' as const) : ('submitted' as const);
  return { id, date: submission_date ?? '', status: evaluation?.status === 'APPROVED' ? approved : rejected };
}

const byDate = (one: { date: string }, other: { date: string }) => Date.parse(other.date) - Date.parse(one.date) || 0;

function mapPart<T, R>(part: Part<T>, map: (value: T) => R): Part<R> {
  return part.ok ? { ok: true, value: map(part.value) } : part;
}
