import type { Coin } from '../world/world.ts';

/** An event of a transaction. Those of its messages have the attribute `msg_index`. */
export interface TxEvent {
  type: string;
  attributes: { key: string; value: string; index: boolean }[];
}

export function toEvent(type: string, attributes: Record<string, string>): TxEvent {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value, index: true })) };
}

export function toTransferEvents(transfer: { from: string; to: string; coins: readonly Coin[] }): TxEvent[] {
  const amount = transfer.coins.map((coin) => `${coin.amount}${coin.denom}`).join(',');
  return [
    toEvent('coin_spent', { spender: transfer.from, amount }),
    toEvent('coin_received', { receiver: transfer.to, amount }),
    toEvent('transfer', { recipient: transfer.to, sender: transfer.from, amount }),
    toEvent('message', { sender: transfer.from }),
  ];
}
