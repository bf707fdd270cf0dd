import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import { sql } from 'kysely';
import { insertOnce, type QuestionTable, sealedTables, type Trx, type UssdStore } from '../store/tables.ts';
import type { AgentClient, Question } from './agent-client.ts';
import { toPlainText } from './plain-text.ts';

/** Beyond this many at once a question is refused rather than queued: its user would have hung up. */
const maxRunning = 200;

export function createAssistant(agent: AgentClient, questions: Questions, waitMs: number) {
  const running = new Map<string, Promise<void>>();

  async function answer({ id, text, phone, language }: Question, log: Logger): Promise<void> {
    try {
      const session = await questions.findChat(phone);
      const onChat = (chat: string) => questions.setChat(id, chat);
      const result = await agent.ask({ id, phone, text, language, session, onChat });
      if (!result.ok) log.warn({ reason: result.reason }, 'the agent service gave no answer');
      if (!result.ok && result.late) return;
      await questions.settle(id, result.ok ? toPlainText(result.text) : undefined);
    } catch (error) {
      log.error({ err: error }, 'an answer of the agent service could not be kept');
    }
  }

  return {
    start(question: Question, log: Logger) {
      if (running.has(question.id)) return;
      const task = running.size >= maxRunning ? questions.settle(question.id, undefined) : answer(question, log);
      running.set(
        question.id,
        task.finally(() => running.delete(question.id)),
      );
    },
    /** Waits at most `waitMs`. Questions of other instances are not waited for. */
    async wait(id: string) {
      const task = running.get(id);
      if (!task) return;
      const answered = new AbortController();
      const late = sleep(waitMs, undefined, { signal: answered.signal }).catch(() => undefined);
      await Promise.race([task, late]).finally(() => answered.abort());
    },
    /** For a question that no task of this process waits for. */
    async recover({ id, isOld, phone }: Pick<Question, 'id' | 'phone'> & { isOld: boolean }, log: Logger) {
      if (running.has(id)) return;
      const session = await questions.findChat(phone);
      const text =
        session &&
        (await agent.findAnswer({ id, phone, session }).catch((error: unknown) => {
          log.warn({ err: error }, 'the agent service could not be asked for an earlier answer');
          return undefined;
        }));
      if (text !== undefined) await questions.settle(id, toPlainText(text));
      else if (isOld) await questions.settle(id, undefined);
    },
    // Answers under way are not waited for: a model may take minutes. They are fetched when they are asked for.
    async close() {
      await Promise.race([Promise.allSettled(running.values()), sleep(2_000, undefined, { ref: false })]);
    },
  };
}

export type Assistant = ReturnType<typeof createAssistant>;

export function createQuestions({ db, cipher }: UssdStore) {
  const toQuestion = (row: QuestionTable | undefined) => row && cipher.openRow(sealedTables.question, row);
  return {
    async insertOnce({ id, phone, text, now }: { id: string; phone: string; text: string; now: number }) {
      const row = { id, phone, question: text, status: 'pending' as const, answer: null, asked_at: now, shown: 0 };
      return insertOnce(db, 'ussd_question', cipher.sealRow(sealedTables.question, row));
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
    async markShown(trx: Trx, id: string) {
      await trx.updateTable('ussd_question').set({ shown: 1 }).where('id', '=', id).execute();
    },
    async findChat(phone: string) {
      const chats = db.selectFrom('ussd_chat').select('agent_session').where('phone', '=', cipher.token(phone));
      return (await chats.executeTakeFirst())?.agent_session;
    },
    /** Writes nothing where the question was erased meanwhile. */
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
