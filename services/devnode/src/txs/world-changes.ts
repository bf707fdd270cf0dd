import { create, type DescMessage } from '@bufbuild/protobuf';
import { type ChangingTable, createTable } from '../world/table.ts';
import type { Claim, Coin, Collection, SendGrant, World } from '../world/world.ts';

/** Writes to the world that can be taken back together: a transaction changes all that it names, or nothing. */
export interface WorldChanges {
  balance(address: string, denom: string): bigint;
  /** Moves coins; false if the sender has too little. */
  move(transfer: { from: string; to: string; coins: readonly Coin[] }): boolean;
  putClaim(claim: Claim): void;
  putCollection(collection: Collection): void;
  putGrant(key: string, grant: SendGrant | undefined): void;
  undo(): void;
}

export function createWorldChanges(world: World, coinDesc: DescMessage): WorldChanges {
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
    move({ from, to, coins }) {
      for (const { denom, amount } of coins) {
        const owned = balance(from, denom);
        if (owned < BigInt(amount)) return false;
        setBalance(from, denom, owned - BigInt(amount));
        setBalance(to, denom, balance(to, denom) + BigInt(amount));
      }
      return true;
    },
    putClaim: (claim) => put(world.claims, claim.claimId, claim),
    putCollection: (collection) => put(world.collections, collection.id, collection),
    putGrant: (key, grant) => put(world.sendGrants, key, grant),
    undo() {
      for (const step of undone.splice(0).toReversed()) step();
    },
  };
}
