import type { Store } from '@palaver/store';
import { sql, type Transaction } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { QuestionTable, UssdTables } from '../store/tables.ts';

/** Questions and their answers, kept for a day: a slow answer is there when the user asks for it, at the next dial too. */
export function createQuestions({ db, cipher }: Pick<Store<UssdTables>, 'db' | 'cipher'>) {
  const toQuestion = (row: QuestionTable | undefined) => row && cipher.openRow(sealedTables.question, row);
  return {
    /** `false` when the question is there already. */
    async insertOnce({ id, phone, text, now }: { id: string; phone: string; text: string; now: number }) {
      const row = { id, phone, question: text, status: 'pending' as const, answer: null, asked_at: now, shown: 0 };
      const insert = db
        .insertInto('ussd_question')
        .values(cipher.sealRow(sealedTables.question, row))
        .onConflict((conflict) => conflict.column('id').doNothing());
      return (await insert.executeTakeFirst()).numInsertedOrUpdatedRows === 1n;
    },
    find: async (id: string) =>
      toQuestion(await db.selectFrom('ussd_question').selectAll().where('id', '=', id).executeTakeFirst()),
    /** The phone's last question, unless its answer was shown. */
    async findOpen(phone: string) {
      const query = db.selectFrom('ussd_question').selectAll().where('phone', '=', cipher.token(phone));
      const last = await query.orderBy('asked_at', 'desc').orderBy('id').limit(1).executeTakeFirst();
      return last?.shown === 0 ? toQuestion(last) : undefined;
    },
    async settle(id: string, answer: string | undefined) {
      const change = {
        status: answer === undefined ? ('failed' as const) : ('answered' as const),
        answer: cipher.sealRow(sealedTables.question, { id, answer: answer ?? null }).answer,
      };
      await db.updateTable('ussd_question').set(change).where('id', '=', id).where('status', '=', 'pending').execute();
    },
    async markShown(trx: Transaction<UssdTables>, id: string) {
      await trx.updateTable('ussd_question').set({ shown: 1 }).where('id', '=', id).execute();
    },
    async findChat(phone: string) {
      const row = await db
        .selectFrom('ussd_chat')
        .selectAll()
        .where('phone', '=', cipher.token(phone))
        .executeTakeFirst();
      return row?.agent_session;
    },
    /** The chat of a question's phone; nothing where the question was erased meanwhile. */
    async setChat(questionId: string, agentSession: string) {
      await db
        .insertInto('ussd_chat')
        .columns(['phone', 'agent_session'])
        .expression((eb) =>
          eb
            .selectFrom('ussd_question')
            .select(['phone', sql<string>`cast(${agentSession} as text)`.as('agent_session')])
            .where('id', '=', questionId),
        )
        .onConflict((conflict) => conflict.column('phone').doUpdateSet({ agent_session: agentSession }))
        .execute();
    },
  };
}

export type Questions = ReturnType<typeof createQuestions>;
