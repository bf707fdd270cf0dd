import type { Price } from './oracle-config.ts';

/** A chain message as signing clients take it. */
export interface ChainMessage {
  typeUrl: string;
  value: Record<string, unknown>;
}

export function toPaymentMessages({ from, to, price }: { from: string; to: string; price: Price }): ChainMessage[] {
  return [
    {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: from, toAddress: to, amount: [{ denom: price.denom, amount: price.amount }] },
    },
  ];
}

/** A payment the agent asks for; `amount` is in credits. */
export interface Claim {
  claimId: string;
  amount: number;
}

export interface CreditTerms {
  address: string;
  price: Price;
}

/** At the price of one credit; claims that are not open cost nothing. Agents that list none (`open` undefined) ask it for each claim. */
export function toClaimsPrice(claimIds: readonly string[], open: readonly Claim[] | undefined, price: Price): Price {
  const ids = new Set(claimIds);
  const count = open
    ? open.reduce((sum, { claimId, amount }) => sum + (ids.has(claimId) ? BigInt(amount) : 0n), 0n)
    : BigInt(ids.size);
  return { denom: price.denom, amount: String(count * BigInt(price.amount)) };
}

/** Throws when a broadcast transaction was refused by the chain: signing clients report that as a code that is not 0. */
export function checkTransaction(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  const { code, rawLog, raw_log: rawLogSnake } = result as Record<string, unknown>;
  if (code === undefined || code === 0) return;
  throw new Error(`The chain refused the transaction (code ${code}): ${rawLog ?? rawLogSnake ?? 'no reason given'}`);
}
