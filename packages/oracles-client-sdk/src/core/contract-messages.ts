import type { Price } from './oracle-config.ts';

/** A chain message as signing clients take it. */
export interface ChainMessage {
  typeUrl: string;
  value: Record<string, unknown>;
}

/** Pays an agent: what contracts it, and what settles its claims. */
export function toPaymentMessages(payment: { from: string; to: string; price: Price }): ChainMessage[] {
  const { from, to, price } = payment;
  return [
    {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: from, toAddress: to, amount: [{ denom: price.denom, amount: price.amount }] },
    },
  ];
}

/** A payment the agent asks for; `amount` is in credits, and a credit costs one unit of the price's denom. */
export interface Claim {
  claimId: string;
  amount: number;
}

/**
 * What these claims cost together: each its own amount. Claims that are not open any more cost nothing. `open` is undefined
 * for agents that do not list them: there each costs the agent's price.
 */
export function toClaimsPrice(claimIds: readonly string[], open: readonly Claim[] | undefined, price: Price): Price {
  const ids = new Set(claimIds);
  const total = open
    ? open.reduce((sum, { claimId, amount }) => sum + (ids.has(claimId) ? BigInt(amount) : 0n), 0n)
    : BigInt(price.amount) * BigInt(ids.size);
  return { denom: price.denom, amount: String(total) };
}

/** Throws when a broadcast transaction was refused by the chain: signing clients report that as a code that is not 0. */
export function checkTransaction(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  const { code, rawLog, raw_log: rawLogSnake } = result as Record<string, unknown>;
  if (code === undefined || code === 0) return;
  throw new Error(`The chain refused the transaction (code ${code}): ${rawLog ?? rawLogSnake ?? 'no reason given'}`);
}
