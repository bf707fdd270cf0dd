import { type Kysely, sql } from 'kysely';
import { type Session, sessionStatus } from './session-row.ts';
import type { UssdTables } from './tables.ts';
import type { TextHash } from './text-hash.ts';

// Of a session whose caller was erased an empty row stays, until it is as old as others are when they are removed. Without it the
// next key press, at whichever instance, would be taken for one of a lost session, and its inputs played again.

/** No phone has an empty number. */
export const isErased = ({ phone }: Pick<Session, 'phone'>) => phone === '';

/** Ends the sessions of a phone number, given as it is stored. The version grows: instances that have one in memory notice. */
export async function endSessions(
  trx: Kysely<UssdTables>,
  phone: string,
  textHash: Pick<TextHash, 'ofErased'>,
): Promise<void> {
  for (const { id } of await trx.selectFrom('ussd_session').select('id').where('phone', '=', phone).execute()) {
    const erasedId = textHash.ofErased(id);
    // Of an earlier call with this id.
    await trx.deleteFrom('ussd_session').where('id', '=', erasedId).execute();
    await sql`update ussd_session set id = ${erasedId}, phone = '', status = ${sessionStatus.expired}, version = version + 1,
      text_hash = '', text_length = 0, opening = '{"language":"en"}', dialogue = '{"f":1,"s":"","l":"en"}', reply = ''
      where id = ${id} and phone = ${phone}`.execute(trx);
  }
}
