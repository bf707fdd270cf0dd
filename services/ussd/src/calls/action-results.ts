import type { ActionResult } from '@palaver/program/internal';
import { type Kysely, sql } from 'kysely';
import { type Clock, sealedTables, type Trx, type UssdStore, type UssdTables } from '../store/tables.ts';
import type { TextHash } from '../store/text-hash.ts';

export interface ResultKey {
  key: string;
  sessionId: string;
  /** The caller: a result may hold a name, and is erased with its caller. */
  phone: string;
}

class AlreadyDone extends Error {}

/** Another instance has changed the session, or its caller was erased: what it did is undone, and its row is read again. */
export class SessionChanged extends Error {}

/** A result is recorded in the transaction of its side effect, so that a retry or another instance finds it. */
export function createActionResults(
  store: UssdStore,
  { clock, textHash }: { clock: Clock; textHash: Pick<TextHash, 'ofErased'> },
) {
  const find = async ({ key, sessionId }: Pick<ResultKey, 'key' | 'sessionId'>) => {
    const { rows } = await sql<{ result: string | null; erased: unknown }>`select
      (select result from ussd_action_result where key = ${key}) as result,
      exists (select 1 from ussd_session where id = ${textHash.ofErased(sessionId)})
      and not exists (select 1 from ussd_session where id = ${sessionId}) as erased`.execute(store.db);
    const { result = null, erased } = rows[0] ?? {};
    if (erased) throw new SessionChanged();
    if (result === null) return undefined;
    return JSON.parse(store.cipher.openRow(sealedTables.result, { key, result }).result) as ActionResult;
  };
  const findAgain = async (own: ResultKey) => {
    const recorded = await find(own);
    if (!recorded) throw new SessionChanged();
    return recorded;
  };
  // On PostgreSQL an erasure waits for this row, or this waits for the erasure and sees it.
  const lock = sql.raw(store.engine === 'postgres' ? 'for share' : '');
  const insert = async (db: Kysely<UssdTables>, { sessionId, ...own }: ResultKey, result: ActionResult) => {
    const plain = { ...own, result: JSON.stringify(result) };
    const { key, phone, result: sealed } = store.cipher.sealRow(sealedTables.result, plain);
    const ids = sql.join([sessionId, textHash.ofErased(sessionId)]);
    const inserted = await sql`with own as (select id from ussd_session where id in (${ids}) ${lock})
      insert into ussd_action_result (key, phone, result, created_at)
      select cast(${key} as text), cast(${phone} as text), cast(${sealed} as text), cast(${clock.now()} as bigint)
      where exists (select 1 from own where id = ${sessionId}) or not exists (select 1 from own)
      on conflict (key) do nothing`.execute(db);
    return inserted.numAffectedRows !== 0n;
  };
  return {
    find,
    record: async (own: ResultKey, result: ActionResult) =>
      (await insert(store.db, own, result)) ? result : findAgain(own),
    async commit(own: ResultKey, act: (trx: Trx) => Promise<ActionResult>) {
      try {
        return await store.transaction(async (trx) => {
          const result = await act(trx);
          // Undoes what `act` wrote: the other result stays.
          if (!(await insert(trx, own, result))) throw new AlreadyDone();
          return result;
        });
      } catch (error) {
        if (!(error instanceof AlreadyDone)) throw error;
        return findAgain(own);
      }
    },
  };
}

export type ActionResults = ReturnType<typeof createActionResults>;
