import type { LiveRunStatus } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { sql } from 'kysely';
import { deadAfterMs } from './instances.ts';
import { toLiveStatus } from './runs.ts';
import type { AgentDatabase } from './schema.ts';
import { sealedTables } from './sealed-tables.ts';

/** A live run whose instance is dead. */
export interface InterruptedRun {
  runId: string;
  sessionId: string;
  userDid: string;
  requestId: string;
  messageId: string;
  model: string;
  instance: string;
  epoch: number;
  /** How many of its owners died while it ran, this one included. */
  deaths: number;
  status: LiveRunStatus;
  isAborting: boolean;
  createdAt: number;
  /** What a new owner needs; null if none can continue it. */
  input: string | null;
}

export interface StoredStep {
  number: number;
  said: number;
  body: string;
  outcomes: string | null;
}

export type InterruptedRuns = ReturnType<typeof createInterruptedRuns>;

export function createInterruptedRuns({ db, engine, cipher }: Store<AgentDatabase>) {
  const now = databaseTime(engine);
  const pending = sql`select 1 from agent_approval where agent_approval.run_id = run.id and agent_approval.status = 'pending'`;
  // A run that waits for its user needs no owner, unless nobody else could continue it or the user has not been notified yet.
  const hasWork = sql<boolean>`(run.status <> 'waiting' or run.aborting = 1 or run.input is null
    or not exists (${pending}) or exists (${pending} and agent_approval.streamed = 0))`;
  return {
    /** The oldest few after the id `after` that an instance must continue. An instance that is alone on its database knows that every other one is dead. */
    async list(own: { instance: string; isAlone: boolean; after?: string; limit: number }): Promise<InterruptedRun[]> {
      const rows = await db
        .selectFrom('agent_run as run')
        .leftJoin('agent_instance as owner', 'owner.id', 'run.instance')
        .selectAll('run')
        .where('run.ended_at', 'is', null)
        .where('run.id', '>', own.after ?? '')
        .where('run.instance', '<>', own.instance)
        .$if(!own.isAlone, (query) =>
          query.where((eb) =>
            eb.or([
              eb('run.instance', '=', ''),
              eb('owner.seen_at', '<=', eb(now, '-', deadAfterMs)),
              eb('owner.id', 'is', null),
            ]),
          ),
        )
        .where(hasWork)
        .orderBy('run.id')
        .limit(own.limit)
        .execute();
      return rows
        .map((stored) => cipher.openRow(sealedTables.run, stored, { input: null }))
        .map((row) => ({
          runId: row.id,
          sessionId: row.session_id,
          userDid: row.user_did,
          requestId: row.request_id,
          messageId: row.message_id,
          model: row.model,
          instance: row.instance,
          epoch: row.epoch,
          deaths: row.deaths + (row.status === 'running' && row.instance !== '' ? 1 : 0),
          status: toLiveStatus(row.status),
          isAborting: row.aborting === 1,
          createdAt: row.created_at,
          input: row.input,
        }));
    },

    /** What was stored of its message; null where it cannot be read. */
    async input(runId: string): Promise<string | null> {
      const row = await db.selectFrom('agent_run').selectAll().where('id', '=', runId).executeTakeFirst();
      return row ? cipher.openRow(sealedTables.run, row, { input: null }).input : null;
    },

    /** Makes `instance` the owner; undefined if another instance was faster. From then on nobody else writes of the run. */
    async claim(
      { runId, epoch, deaths, instance: dead }: InterruptedRun,
      instance: string,
    ): Promise<Pick<InterruptedRun, 'epoch' | 'status' | 'isAborting'> | undefined> {
      const rows = await db
        .updateTable('agent_run')
        .set((eb) => ({ instance, deaths, epoch: eb('epoch', '+', 1) }))
        .where('id', '=', runId)
        .where('epoch', '=', epoch)
        .where('instance', '=', dead)
        .where('ended_at', 'is', null)
        .returning(['epoch', 'status', 'aborting'])
        .execute();
      const [row] = rows;
      return row && { epoch: row.epoch, status: toLiveStatus(row.status), isAborting: row.aborting === 1 };
    },

    /** Gives a run up, so that another instance continues it at once. */
    async release(runId: string, epoch: number): Promise<boolean> {
      const result = await db
        .updateTable('agent_run')
        .set({ instance: '' })
        .where('id', '=', runId)
        .where('epoch', '=', epoch)
        .where('ended_at', 'is', null)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },

    /** Undefined if a cell cannot be decrypted. */
    async steps(runId: string): Promise<StoredStep[] | undefined> {
      const rows = await db
        .selectFrom('agent_step')
        .select(['run_id', 'number', 'said', 'body', 'outcomes'])
        .where('run_id', '=', runId)
        .orderBy('number')
        .execute();
      const steps = rows.map((row) => cipher.openRow(sealedTables.step, row, { body: '', outcomes: '' }));
      return steps.some(({ body, outcomes }) => body === '' || outcomes === '') ? undefined : steps;
    },
  };
}
