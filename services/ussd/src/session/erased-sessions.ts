import { createHash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { UssdTables } from '../store/tables.ts';
import { type Session, sessionStatus } from './session.ts';

// Of a session whose caller was erased an empty row stays, until it is as old as others are when they are removed. Without it the
// next key press, at whichever instance, would be taken for one of a lost session, and its inputs played again.

/** The telecom gateway's own id may hold the number. */
export function toErasedId(id: string): string {
  return `erased ${createHash('sha256').update(id).digest('hex')}`;
}

/** No phone has an empty number. */
export const isErased = ({ phone }: Pick<Session, 'phone'>) => phone === '';

/** Ends the sessions of a phone number, given as it is stored. The version grows: instances that have one in memory notice. */
export async function endSessions(trx: Kysely<UssdTables>, phone: string): Promise<void> {
  for (const { id } of await trx.selectFrom('ussd_session').select('id').where('phone', '=', phone).execute()) {
    const erasedId = toErasedId(id);
    // Of an earlier call with this id.
    await trx.deleteFrom('ussd_session').where('id', '=', erasedId).execute();
    await sql`update ussd_session set id = ${erasedId}, phone = '', status = ${sessionStatus.expired}, version = version + 1,
      text_hash = '', text_length = 0, opening = '{"language":"en"}', dialogue = '{"f":1,"s":"","l":"en"}', reply = ''
      where id = ${id}`.execute(trx);
  }
}
