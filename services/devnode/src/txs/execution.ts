import { create, type DescMessage, type FileRegistry } from '@bufbuild/protobuf';
import {
  type ChangingTable,
  type Claim,
  type Coin,
  type Collection,
  createTable,
  type SendGrant,
  type World,
} from '../world/world.ts';
import { refuseTx, type TxDecoder, type TxFault } from './decode-tx.ts';

export type Outcome = { ok: true; events: TxEvent[] } | TxFault;

export interface Execution {
  protocol: FileRegistry;
  world: World;
  changes: WorldChanges;
  blockTime: Date;
  decoder: TxDecoder;
}

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

export function checkCoins(coins: readonly Coin[]): TxFault | undefined {
  const isRight = coins.every(({ denom, amount }) => denom && /^[1-9]\d{0,77}$/.test(amount));
  const isSorted = coins.every(({ denom }, index) => index === 0 || (coins[index - 1] as Coin).denom < denom);
  return isRight && isSorted ? undefined : refuseTx('invalidCoins', 'expected positive amounts, sorted by denom');
}

/** Writes that can be undone together: a transaction changes everything that it names, or nothing. */
export function createWorldChanges(world: World, coinDesc: DescMessage) {
  const undone: (() => void)[] = [];
  const put = <T>(table: ChangingTable<T>, key: string, value: T | undefined) => {
    const before = table.get(key);
    undone.push(() => table.set(key, before));
    table.set(key, value);
  };
  const balance = (address: string, denom: string) =>
    BigInt(world.coinsByAddress.get(address)?.get(denom)?.amount ?? 0);
  const setBalance = (address: string, denom: string, amount: bigint) => {
    const table = world.coinsByAddress.get(address) ?? createTable<Coin>([], (coin) => coin.denom);
    world.coinsByAddress.set(address, table);
    const coin = amount > 0n ? (create(coinDesc, { denom, amount: String(amount) } as never) as Coin) : undefined;
    put(table, denom, coin);
  };
  return {
    balance,
    /** Moves coins; false if the sender has too little. */
    move({ from, to, coins }: { from: string; to: string; coins: readonly Coin[] }): boolean {
      for (const { denom, amount } of coins) {
        const owned = balance(from, denom);
        if (owned < BigInt(amount)) return false;
        setBalance(from, denom, owned - BigInt(amount));
        setBalance(to, denom, balance(to, denom) + BigInt(amount));
      }
      return true;
    },
    putClaim: (claim: Claim) => put(world.claims, claim.claimId, claim),
    putCollection: (collection: Collection) => put(world.collections, collection.id, collection),
    putGrant: (key: string, grant: SendGrant | undefined) => put(world.sendGrants, key, grant),
    undo() {
      for (const step of undone.splice(0).toReversed()) step();
    },
  };
}

export type WorldChanges = ReturnType<typeof createWorldChanges>;
