import type { DatabaseClock, Store } from '@palaver/store';
import type { KeyRing } from '@palaver/store/internal';
import type { UssdTables } from '../store/tables.ts';
import { appendInput, maxListedCharacters } from './text-parts.ts';

interface Kept {
  serviceCode: string;
  phoneNumber: string;
  text: string;
}

/** Accumulates the inputs of gateways that send only the newest one. */
export interface InputLog {
  open(sessionId: string, kept: Kept): Promise<void>;
  /** The text so far with the new input; `undefined` when the session was never opened, or by another number. */
  append(sessionId: string, phoneNumber: string, input: string): Promise<Kept | undefined>;
  remove(sessionId: string): Promise<void>;
}

/** The text may hold a PIN: it is sealed, bound to its session, and removed when the session ends. */
export function createInputLog(
  { db }: Pick<Store<UssdTables>, 'db'>,
  { keys, clock }: { keys: KeyRing; clock: Pick<DatabaseClock, 'now'> },
): InputLog {
  const about = (sessionId: string) => `ussd input ${sessionId}`;
  const seal = (sessionId: string, kept: Kept) => keys.seal(Buffer.from(JSON.stringify(kept)), about(sessionId));
  return {
    async open(sessionId, kept) {
      const row = { session_id: sessionId, version: 1, sealed: seal(sessionId, kept), seen_at: clock.now() };
      await db
        .insertInto('ussd_input')
        .values(row)
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute();
    },
    async append(sessionId, phoneNumber, input) {
      // Two requests of one session at once are two inputs, one after the other; the loser of the race tries again.
      for (let attempt = 0; attempt < 10; attempt++) {
        const row = await db
          .selectFrom('ussd_input')
          .selectAll()
          .where('session_id', '=', sessionId)
          .executeTakeFirst();
        if (!row) return undefined;
        const kept = JSON.parse(keys.open(row.sealed, about(sessionId)).toString()) as Kept;
        const text = appendInput(kept.text, input);
        if (kept.phoneNumber !== phoneNumber || text.length > maxListedCharacters) return undefined;
        const next = { ...kept, text };
        const { numUpdatedRows } = await db
          .updateTable('ussd_input')
          .set({ version: row.version + 1, sealed: seal(sessionId, next), seen_at: clock.now() })
          .where('session_id', '=', sessionId)
          .where('version', '=', row.version)
          .executeTakeFirst();
        if (numUpdatedRows === 1n) return next;
      }
      throw new Error('the inputs of a session were changed by others again and again');
    },
    async remove(sessionId) {
      await db.deleteFrom('ussd_input').where('session_id', '=', sessionId).execute();
    },
  };
}
