import { AppError, agentLimits } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { type Kysely, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { isActive, isActiveIn, type Reading, wholeSize } from './messages.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

export type ForkPoint = { sessionId: string; messageId: string; reading: Reading };

export interface Past {
  bytes: number;
  add(trx: Kysely<AgentDatabase>): Promise<void>;
}

/** Messages of one statement: databases bound its parameters. */
const rowsAtOnce = 200;

/** Reads a session up to a message. The result stores it in the session `id`, under new ids. */
export async function readPast(
  { db, cipher }: Pick<Store<AgentDatabase>, 'db' | 'cipher'>,
  { sessionId, messageId, reading }: ForkPoint,
  id: string,
): Promise<Past> {
  const named = db.selectFrom('agent_message as last').select('last.number').where('last.session_id', '=', sessionId);
  const last = named.where('last.id', '=', messageId).where(isActiveIn('last'));
  const all = db.selectFrom('agent_message').where('session_id', '=', sessionId);
  const past = all.where('number', '<=', last).where(isActive);
  const { total, bytes } = await past
    .select((eb) => [eb.fn.countAll<number>().as('total'), sql<number | null>`sum(${wholeSize})`.as('bytes')])
    .executeTakeFirstOrThrow();
  if (bytes === null) throw new AppError('NOT_FOUND', 'There is no such message in this session.');
  if (Number(total) > agentLimits.forkMessages || Number(bytes) > agentLimits.forkBytes)
    throw new AppError('PAYLOAD_TOO_LARGE', 'The conversation up to this message is too long to be copied.');
  const rows = await reading(Number(bytes), () => past.selectAll().execute());
  const ids = new Map(rows.map((row) => [row.id, uuidv7()]));
  const messages = rows.map((row) => {
    const opened = cipher.openRow(sealedTables.message, row, { content: unreadableText, extras: null, hidden: null });
    return cipher.sealRow(sealedTables.message, { ...opened, id: ids.get(row.id) ?? '', session_id: id });
  });
  const summaries = db.selectFrom('agent_summary').selectAll().where('session_id', '=', sessionId);
  const stored = await summaries.executeTakeFirst();
  const summary = stored && cipher.openRow(sealedTables.summary, stored, { text: unreadableText });
  const up_to = summary && ids.get(summary.up_to);
  const add: Past['add'] = async (trx) => {
    for (let at = 0; at < messages.length; at += rowsAtOnce) {
      const some = messages.slice(at, at + rowsAtOnce);
      await trx.insertInto('agent_message').values(some).execute();
    }
    // The numbers of messages follow from those of their runs: the next run comes after all of them.
    const run_count = Math.max(0, ...messages.map(({ number }) => Math.floor(number / 2)));
    await trx.updateTable('agent_session').set({ run_count }).where('id', '=', id).execute();
    if (!summary || !up_to) return;
    const sealed = cipher.sealRow(sealedTables.summary, { ...summary, session_id: id, up_to });
    await trx.insertInto('agent_summary').values(sealed).execute();
  };
  return { bytes: Number(bytes), add };
}
