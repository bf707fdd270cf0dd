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

/** Throws when a broadcast transaction was refused by the chain: signing clients report that as a code that is not 0. */
export function checkTransaction(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  const { code, rawLog, raw_log: rawLogSnake } = result as Record<string, unknown>;
  if (code === undefined || code === 0) return;
  throw new Error(`The chain refused the transaction (code ${code}): ${rawLog ?? rawLogSnake ?? 'no reason given'}`);
}
