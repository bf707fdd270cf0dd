import type { EndedRunStatus, Message, RunStatus } from '@palaver/contract';
import { uuidPattern } from '@palaver/contract';
import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { MessageExtras } from './messages.ts';
import type { AgentDatabase } from './schema.ts';

export interface RunBegin {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  instance: string;
  model: string;
  question: Message;
  /** The id the answer will have. */
  answerId: string;
}

export interface RunEnd {
  runId: string;
  sessionId: string;
  status: EndedRunStatus;
  answer: Message;
  usage: { inputTokens: number; outputTokens: number };
  /** Names the session if it has no name yet. */
  title: string | undefined;
}

export interface StoredRun {
  runId: string;
  sessionId: string;
  requestId: string;
  messageId: string;
  status: RunStatus;
  content: string;
}

type Write =
  | { kind: 'begin'; begin: RunBegin }
  | { kind: 'checkpoint'; runId: string; partial: string }
  | { kind: 'end'; end: RunEnd };

export type RunStore = ReturnType<typeof createRunStore>;

/** Runs and the two messages of each. Everything a turn writes goes through one group writer. */
export function createRunStore(store: Store<AgentDatabase>) {
  const statements = prepareStatements(store);
  const writer = store.createGroupWriter<Write, void>({
    isolation: 'read committed',
    async apply(trx, writes) {
      for (const write of writes) await applyWrite(trx, write);
      return writes.map(() => undefined);
    },
  });

  async function applyWrite(trx: Transaction<AgentDatabase>, write: Write): Promise<void> {
    const now = Date.now();
    if (write.kind === 'checkpoint') {
      await statements.checkpoint({ runId: write.runId, partial: write.partial }, trx);
      return;
    }
    if (write.kind === 'begin') {
      const { begin } = write;
      const { runId, sessionId, userDid, requestId, answerId, instance, model } = begin;
      await statements.insertRun({ runId, sessionId, userDid, requestId, answerId, instance, model, now }, trx);
      await insertMessage(trx, begin, begin.question);
      await statements.touchSession({ sessionId: begin.sessionId, now }, trx);
      return;
    }
    const { end } = write;
    await insertMessage(trx, end, end.answer);
    await statements.endRun({ runId: end.runId, status: end.status, ...end.usage, now }, trx);
    await statements.touchSession({ sessionId: end.sessionId, now }, trx);
    if (end.title !== undefined) await statements.nameSession({ sessionId: end.sessionId, title: end.title }, trx);
  }

  async function insertMessage(
    trx: Transaction<AgentDatabase>,
    run: { runId: string; sessionId: string },
    message: Message,
  ): Promise<void> {
    const { toolCalls, reasoning, attachments, components } = message;
    const extras = toExtras({ toolCalls, reasoning, attachments, components });
    await statements.insertMessage(
      {
        id: message.id,
        sessionId: run.sessionId,
        runId: run.runId,
        position: `${run.runId}:${message.type === 'human' ? 0 : 1}`,
        type: message.type,
        // PostgreSQL has no U+0000 in its texts; a model or a tool may.
        content: message.content.replaceAll('\0', '\ufffd'),
        status: message.status,
        requestId: message.requestId,
        extras,
        createdAt: Date.parse(message.createdAt),
      },
      trx,
    );
  }

  return {
    begin: (begin: RunBegin) => writer.write({ kind: 'begin', begin }),
    end: (end: RunEnd) => writer.write({ kind: 'end', end }),
    checkpoint: async (runId: string, answer: Message) =>
      writer.write({ kind: 'checkpoint', runId, partial: JSON.stringify(answer) }),

    async find(userDid: string, runId: string): Promise<StoredRun | undefined> {
      if (!uuidPattern.test(runId)) return undefined;
      const row = await store.db
        .selectFrom('agent_run as run')
        .leftJoin('agent_message as message', 'message.id', 'run.message_id')
        .select(['run.id', 'run.session_id', 'run.request_id', 'run.message_id', 'run.status', 'message.content'])
        .where('run.id', '=', runId)
        .where('run.user_did', '=', userDid)
        .executeTakeFirst();
      return (
        row && {
          runId: row.id,
          sessionId: row.session_id,
          requestId: row.request_id,
          messageId: row.message_id,
          status: row.status,
          content: row.content ?? '',
        }
      );
    },

    /** Ends what a process that died had not ended: its runs are failed, with the answers as far as they were kept. */
    async failInterrupted(isAlive: (instance: string) => Promise<boolean>): Promise<string[]> {
      const rows = await store.db
        .selectFrom('agent_run')
        .selectAll()
        .where('status', 'in', ['queued', 'running'])
        .execute();
      const failed: string[] = [];
      for (const row of rows) {
        if (await isAlive(row.instance)) continue;
        const empty = {
          id: row.message_id,
          type: 'ai',
          content: '',
          createdAt: new Date().toISOString(),
          requestId: row.request_id,
        };
        const partial = row.partial === null ? empty : (JSON.parse(row.partial) as Message);
        const answer = { ...partial, status: 'failed' } as Message;
        const usage = { inputTokens: 0, outputTokens: 0 };
        await writer.write({
          kind: 'end',
          end: { runId: row.id, sessionId: row.session_id, status: 'failed', answer, usage, title: undefined },
        });
        failed.push(row.id);
      }
      return failed;
    },
  };
}

function toExtras(extras: MessageExtras): string | null {
  return Object.values(extras).some((value) => value !== undefined) ? JSON.stringify(extras) : null;
}

// Type aliases, not interfaces: only those fit the store's record of parameters.
type RunRow = {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  answerId: string;
  instance: string;
  model: string;
  now: number;
};

type MessageRow = {
  id: string;
  sessionId: string;
  runId: string;
  position: string;
  type: 'human' | 'ai';
  content: string;
  status: EndedRunStatus;
  requestId: string;
  extras: string | null;
  createdAt: number;
};

function prepareStatements({ prepare }: Store<AgentDatabase>) {
  return {
    insertRun: prepare((db, run: RunRow) =>
      db.insertInto('agent_run').values({
        id: run.runId,
        session_id: run.sessionId,
        user_did: run.userDid,
        request_id: run.requestId,
        message_id: run.answerId,
        instance: run.instance,
        status: 'running',
        model: run.model,
        created_at: run.now,
      }),
    ),
    insertMessage: prepare((db, message: MessageRow) =>
      db.insertInto('agent_message').values({
        id: message.id,
        session_id: message.sessionId,
        run_id: message.runId,
        position: message.position,
        type: message.type,
        content: message.content,
        status: message.status,
        request_id: message.requestId,
        extras: message.extras,
        created_at: message.createdAt,
      }),
    ),
    checkpoint: prepare((db, run: { runId: string; partial: string }) =>
      db.updateTable('agent_run').set({ partial: run.partial }).where('id', '=', run.runId),
    ),
    endRun: prepare(
      (db, run: { runId: string; status: EndedRunStatus; inputTokens: number; outputTokens: number; now: number }) =>
        db
          .updateTable('agent_run')
          .set({
            status: run.status,
            input_tokens: run.inputTokens,
            output_tokens: run.outputTokens,
            partial: null,
            ended_at: run.now,
          })
          .where('id', '=', run.runId),
    ),
    touchSession: prepare((db, session: { sessionId: string; now: number }) =>
      db.updateTable('agent_session').set({ updated_at: session.now }).where('id', '=', session.sessionId),
    ),
    // The first exchange names it; of several sent at once, the first to end.
    nameSession: prepare((db, session: { sessionId: string; title: string }) =>
      db
        .updateTable('agent_session')
        .set({ title: session.title, named: 1 })
        .where('id', '=', session.sessionId)
        .where('named', '=', 0),
    ),
  };
}
