import type { DatabaseClock, Store } from '@palaver/store';
import type { Kysely, Transaction } from 'kysely';
import type { ActionResult } from '../menu/engine.ts';
import { sealedTables } from '../store/sealed-tables.ts';
import type { UssdTables } from '../store/tables.ts';

/**
 * Results of actions. A result is recorded in the transaction of the side effect itself, under a key of session and step: a
 * retry, a replay after a crash and another instance find it and do not act again.
 */
export interface ActionResults {
  find(key: string): Promise<ActionResult | undefined>;
  /** Records the result of an action that wrote nothing, or gives back what was recorded for the key before. */
  record(done: ResultKey, result: ActionResult): Promise<ActionResult>;
  /** Runs `act` and records its result, or gives back what was recorded for the key meanwhile. */
  commit(done: ResultKey, act: (trx: Transaction<UssdTables>) => Promise<ActionResult>): Promise<ActionResult>;
}

export interface ResultKey {
  key: string;
  /** Whose it is: the result may hold a name. */
  phone: string;
}

class AlreadyDone extends Error {}

export function createActionResults(
  store: Pick<Store<UssdTables>, 'db' | 'transaction' | 'cipher'>,
  clock: Pick<DatabaseClock, 'now'>,
): ActionResults {
  const find = async (key: string) => {
    const query = store.db.selectFrom('ussd_action_result').select(['key', 'result']).where('key', '=', key);
    const row = await query.executeTakeFirst();
    return row && (JSON.parse(store.cipher.openRow(sealedTables.result, row).result) as ActionResult);
  };
  const findAgain = async (key: string) => {
    const recorded = await find(key);
    if (!recorded) throw new Error('a recorded action result is gone');
    return recorded;
  };
  const insert = async (db: Kysely<UssdTables>, own: ResultKey, result: ActionResult) => {
    const plain = { ...own, result: JSON.stringify(result), created_at: clock.now() };
    const row = store.cipher.sealRow(sealedTables.result, plain);
    const inserted = await db
      .insertInto('ussd_action_result')
      .values(row)
      .onConflict((conflict) => conflict.column('key').doNothing())
      .executeTakeFirst();
    return inserted.numInsertedOrUpdatedRows !== 0n;
  };
  return {
    find,
    record: async (own, result) => ((await insert(store.db, own, result)) ? result : findAgain(own.key)),
    async commit(own, act) {
      try {
        return await store.transaction(async (trx) => {
          const result = await act(trx);
          // Undoes what `act` wrote: the other result stays.
          if (!(await insert(trx, own, result))) throw new AlreadyDone();
          return result;
        });
      } catch (error) {
        if (!(error instanceof AlreadyDone)) throw error;
        return findAgain(own.key);
      }
    },
  };
}
