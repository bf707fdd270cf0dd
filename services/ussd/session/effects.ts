import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { ActionResult } from '../menu/engine.ts';
import type { UssdTables } from '../store/tables.ts';

/**
 * Effects done once. The result is recorded in the transaction of the effect itself, under a key of session and step: a
 * retry, a replay after a crash and another instance find it and do not act again.
 */
export interface Effects {
  find(key: string): Promise<ActionResult | undefined>;
  /** Runs `act` and records its result, or gives back what was recorded for the key meanwhile. */
  commit(done: EffectKey, act: (trx: Transaction<UssdTables>) => Promise<ActionResult>): Promise<ActionResult>;
}

export interface EffectKey {
  key: string;
  /** Whose it is: the result may hold a name. */
  phone: string;
}

class AlreadyDone extends Error {}

export function createEffects(store: Pick<Store<UssdTables>, 'db' | 'transaction'>): Effects {
  const find = async (key: string) => {
    const row = await store.db.selectFrom('ussd_effect').select('result').where('key', '=', key).executeTakeFirst();
    return row && (JSON.parse(row.result) as ActionResult);
  };
  return {
    find,
    async commit({ key, phone }, act) {
      try {
        return await store.transaction(async (trx) => {
          const result = await act(trx);
          const inserted = await trx
            .insertInto('ussd_effect')
            .values({ key, phone, result: JSON.stringify(result), created_at: Date.now() })
            .onConflict((conflict) => conflict.column('key').doNothing())
            .executeTakeFirst();
          // Undoes what `act` wrote: the other one's effect stands.
          if (inserted.numInsertedOrUpdatedRows === 0n) throw new AlreadyDone();
          return result;
        });
      } catch (error) {
        if (!(error instanceof AlreadyDone)) throw error;
        const recorded = await find(key);
        if (!recorded) throw new Error('an effect was recorded and is gone', { cause: error });
        return recorded;
      }
    },
  };
}
