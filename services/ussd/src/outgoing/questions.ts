import type { Store } from '@palaver/store';
import { sql, type Transaction } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { QuestionTable, UssdTables } from '../store/tables.ts';

/** Questions and their answers, kept for a day: a slow answer is there when the user asks for it, at the next dial too. */
export interface Questions {
  /** `false` when the question is there already. */
  insertOnce(question: { id: string; phone: string; text: string; now: number }): Promise<boolean>;
  find(id: string): Promise<QuestionTable | undefined>;
  /** The phone's last question, unless its answer was shown. */
  findOpen(phone: string): Promise<QuestionTable | undefined>;
  settle(id: string, answer: string | undefined): Promise<void>;
  markShown(trx: Transaction<UssdTables>, id: string): Promise<void>;
  findChat(phone: string): Promise<string | undefined>;
  /** The chat of a question's phone; nothing where the question was erased meanwhile. */
  setChat(questionId: string, agentSession: string): Promise<void>;
}

export function createQuestions({ db, cipher }: Pick<Store<UssdTables>, 'db' | 'cipher'>): Questions {
  const toQuestion = (row: QuestionTable | undefined) => row && cipher.openRow(sealedTables.question, row);
  return {
    async insertOnce({ id, phone, text, now }) {
      const row = { id, phone, question: text, status: 'pending' as const, answer: null, asked_at: now, shown: 0 };
      const insert = db
        .insertInto('ussd_question')
        .values(cipher.sealRow(sealedTables.question, row))
        .onConflict((conflict) => conflict.column('id').doNothing());
      return (await insert.executeTakeFirst()).numInsertedOrUpdatedRows === 1n;
    },
    find: async (id) =>
      toQuestion(await db.selectFrom('ussd_question').selectAll().where('id', '=', id).executeTakeFirst()),
    async findOpen(phone) {
      const query = db.selectFrom('ussd_question').selectAll().where('phone', '=', cipher.token(phone));
      const last = await query.orderBy('asked_at', 'desc').orderBy('id').limit(1).executeTakeFirst();
      return last?.shown === 0 ? toQuestion(last) : undefined;
    },
    async settle(id, answer) {
      const change = {
        status: answer === undefined ? ('failed' as const) : ('answered' as const),
        answer: cipher.sealRow(sealedTables.question, { id, answer: answer ?? null }).answer,
      };
      await db.updateTable('ussd_question').set(change).where('id', '=', id).where('status', '=', 'pending').execute();
    },
    async markShown(trx, id) {
      await trx.updateTable('ussd_question').set({ shown: 1 }).where('id', '=', id).execute();
    },
    async findChat(phone) {
      const row = await db
        .selectFrom('ussd_chat')
        .selectAll()
        .where('phone', '=', cipher.token(phone))
        .executeTakeFirst();
      return row?.agent_session;
    },
    async setChat(questionId, agentSession) {
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
