import type { LiveRunStatus, RunStatus } from '@palaver/contract';
import { uuidPattern } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type SqlBool, sql } from 'kysely';
import type { RunQuery } from '../plugins/agent-run.ts';
import type { Frames, OwnedRun, StoredRun } from './run-records.ts';
import { createRunWrites } from './run-writes.ts';
import type { AgentDatabase } from './schema.ts';
import { sealedTables } from './sealed-tables.ts';

export interface RunState {
  epoch: number;
  status: RunStatus;
  /** Its abort is confirmed: nothing of it begins any more. */
  isAborting: boolean;
  /** When it got its status. */
  changedAt: string;
}

/** As the index `agent_run_by_user` has it. */
const changedAt = sql<number>`coalesce(ended_at, changed_at, started_at, created_at)`;

export type RunStore = ReturnType<typeof createRunStore>;

/** Runs, their queue in each session and the two messages of each. */
export function createRunStore(store: Store<AgentDatabase>) {
  const { db, cipher } = store;
  const now = databaseTime(store.engine);

  return {
    ...createRunWrites(store),

    /** The live runs of a session in order. */
    async live(sessionId: string): Promise<{ runId: string; status: LiveRunStatus }[]> {
      const rows = await db
        .selectFrom('agent_run')
        .select(['id', 'status'])
        .where('session_id', '=', sessionId)
        .where('ended_at', 'is', null)
        .orderBy('number')
        .execute();
      return rows.map(({ id, status }) => ({ runId: id, status: toLiveStatus(status) }));
    },

    /**
     * Confirms the abort of a run: from now on it can only end as aborted. Not of one that was added, or whose turn came by
     * the end of another, within the last `elapsedMs`, while the request was on its way: that was meant for the run before it.
     */
    async requestAbort(runId: string, elapsedMs: number): Promise<boolean> {
      const result = await db
        .updateTable('agent_run')
        .set({ aborting: 1 })
        .where('id', '=', runId)
        .where('ended_at', 'is', null)
        .where((eb) => eb('created_at', '<=', eb(now, '-', elapsedMs)))
        .where(({ not, exists, selectFrom, eb }) =>
          not(
            exists(
              selectFrom('agent_run as before')
                .select('before.id')
                .whereRef('before.session_id', '=', 'agent_run.session_id')
                .where('before.ended_at', '>', eb(now, '-', elapsedMs)),
            ),
          ),
        )
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },

    /** The live runs that an instance owns. */
    async ofInstance(instance: string): Promise<(OwnedRun & { isAborting: boolean })[]> {
      const rows = await db
        .selectFrom('agent_run')
        .select(['id', 'epoch', 'aborting'])
        .where('instance', '=', instance)
        .where('ended_at', 'is', null)
        .execute();
      return rows.map(({ id, epoch, aborting }) => ({ runId: id, epoch, isAborting: aborting === 1 }));
    },

    /** Who may write of a run, and how it ended or will end; undefined for one that is gone. */
    async state(runId: string): Promise<RunState | undefined> {
      const query = db.selectFrom('agent_run').select(['epoch', 'status', 'aborting', changedAt.as('changed')]);
      const row = await query.where('id', '=', runId).executeTakeFirst();
      return (
        row && {
          epoch: row.epoch,
          status: row.status,
          isAborting: row.aborting === 1,
          changedAt: new Date(Number(row.changed)).toISOString(),
        }
      );
    },

    /** The runs of a user, those that changed last first, and how many there are on all pages. */
    async list({ userDid, sessionId, statuses, since, after, limit }: RunQuery) {
      let own = db.selectFrom('agent_run').where('user_did', '=', userDid);
      if (sessionId !== undefined) own = own.where('session_id', '=', sessionId);
      if (statuses) own = own.where('status', 'in', statuses);
      if (since) own = own.where(changedAt, '>=', since.getTime());
      const { total } = await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
      const last = after && [Date.parse(after.changedAt), after.runId];
      const page = last ? own.where(sql<SqlBool>`(${changedAt}, id) < (${last[0]}, ${last[1]})`) : own;
      const rows = await page
        .select(['id', 'session_id', 'status', changedAt.as('changed')])
        .orderBy(changedAt, 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      const runs = rows.map(({ id, session_id, status, changed }) => ({
        runId: id,
        sessionId: session_id,
        status,
        changedAt: new Date(Number(changed)).toISOString(),
      }));
      return { runs, total: Number(total) };
    },

    async find(userDid: string, runId: string): Promise<StoredRun | undefined> {
      if (!uuidPattern.test(runId)) return undefined;
      const row = await db
        .selectFrom('agent_run')
        .select(['id', 'session_id', 'request_id', 'message_id', 'status', 'input_tokens', 'output_tokens'])
        .where('id', '=', runId)
        .where('user_did', '=', userDid)
        .executeTakeFirst();
      return (
        row && {
          runId: row.id,
          sessionId: row.session_id,
          requestId: row.request_id,
          messageId: row.message_id,
          status: row.status,
          usage: { inputTokens: row.input_tokens ?? 0, outputTokens: row.output_tokens ?? 0 },
        }
      );
    },

    /** The stored frames of a run after number `after`, in order; undefined if a cell cannot be decrypted. */
    async frames(runId: string, after: number): Promise<Frames[] | undefined> {
      const rows = await db
        .selectFrom('agent_frame')
        .select(['run_id', 'first', 'last', 'body'])
        .where('run_id', '=', runId)
        .where('last', '>', after)
        .orderBy('first')
        .execute();
      const frames = rows.map((row) => cipher.openRow(sealedTables.frame, row, { body: '' }));
      return frames.some(({ body }) => body === '') ? undefined : frames;
    },
  };
}

/** Of a run that has not ended. */
export function toLiveStatus(status: RunStatus): LiveRunStatus {
  return status === 'queued' || status === 'waiting' ? status : 'running';
}
