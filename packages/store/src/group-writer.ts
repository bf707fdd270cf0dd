import type { Transaction } from 'kysely';
import type { RunTransaction, TransactionOptions } from './engine.ts';
import { faultKind, StoreError } from './store-error.ts';

export interface GroupWriterOptions<DB, Item, Result> extends TransactionOptions {
  /** Returns one result for each item, in order. It may run again with the same or fewer items after a rollback, so it must act only through `trx`. */
  apply(trx: Transaction<DB>, items: readonly Item[]): Promise<readonly Result[]>;
  /** `apply` runs a single statement: it gets `db` in place of `trx`, and no transaction is opened around it. */
  singleStatement?: boolean;
  /** The most items in one transaction. Default 500. */
  maxBatch?: number;
  /** The most waiting items; beyond that `write` is refused. Default 100,000. */
  maxPending?: number;
}

/** Writes that share a transaction with those of other callers. */
export interface GroupWriter<Item, Result> {
  write(item: Item): Promise<Result>;
  idle(): Promise<void>;
  /** Refuses further writes and resolves when nothing is pending. */
  close(): Promise<void>;
}

type Pending<Item, Result> = PromiseWithResolvers<Result> & { item: Item };

/** Writes of one tick of the event loop, or made during a commit, go into one transaction. */
export function createGroupWriter<DB, Item, Result>(
  transaction: RunTransaction<DB>,
  { apply, isolation, maxBatch = 500, maxPending = 100_000 }: GroupWriterOptions<DB, Item, Result>,
): GroupWriter<Item, Result> {
  let pending: Pending<Item, Result>[] = [];
  let running: Promise<void> | undefined;
  let closed = false;

  async function run(): Promise<void> {
    while (pending.length > 0) {
      // Lets the rest of the tick, and the callers just answered, add their writes first.
      await new Promise(setImmediate);
      const batch = pending.slice(0, maxBatch);
      pending = pending.slice(maxBatch);
      await commit(batch);
    }
    running = undefined;
  }

  async function commit(batch: Pending<Item, Result>[]): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const results = await transaction(
        async (trx) => {
          const applied = await apply(trx, items);
          if (applied.length !== items.length) throw new Error('apply must return one result for each item');
          return applied;
        },
        { isolation },
      );
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      // When the database itself failed, halves would fail too, and a commit may even have succeeded: no second try.
      if (batch.length === 1 || faultKind(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One bad item must not fail the others: halving finds it in a few transactions and keeps the order.
      const middle = batch.length >> 1;
      await commit(batch.slice(0, middle));
      await commit(batch.slice(middle));
    }
  }

  const idle = async () => running;
  return {
    write(item) {
      if (closed) return Promise.reject(new StoreError('closed', 'the store is closing and takes no more writes'));
      if (pending.length >= maxPending) {
        return Promise.reject(
          new StoreError('overloaded', `${maxPending} writes are already waiting for the database`),
        );
      }
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      pending.push({ item, promise, resolve, reject });
      running ??= run();
      return promise;
    },
    idle,
    close() {
      closed = true;
      return idle();
    },
  };
}
