import type { LiveRunStatus, RunStatus } from '@palaver/contract';
import { uuidPattern } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import { type SqlBool, sql } from 'kysely';
import type { RunQuery } from '../define/agent-run.ts';
import { deadAfterMs } from './instances.ts';
import type { OwnedRun } from './run-transitions.ts';
import { createRunTransitions } from './run-transitions.ts';
import { createRunWrites, type Frames } from './run-writes.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

export type RunNames = { runId: string; sessionId: string; requestId: string; messageId: string };

export interface StoredRun extends RunNames {
  status: RunStatus;
  usage: { inputTokens: number; outputTokens: number };
}

export interface InterruptedRun extends RunNames {
  userDid: string;
  model: string;
  instance: string;
  epoch: number;
  /** How many of its owners died while it ran, this one included. */
  deaths: number;
  status: LiveRunStatus;
  isAborting: boolean;
  createdAt: number;
  input: string | null;
}

export type StoredStep = Pick<AgentDatabase['agent_step'], 'number' | 'said' | 'body' | 'outcomes'>;

export interface RunState {
  epoch: number;
  status: RunStatus;
  isAborting: boolean;
  changedAt: string;
}

/** As the index `agent_run_by_user` has it. */
const changedAt = sql<number>`coalesce(ended_at, changed_at, started_at, created_at)`;

export type RunStore = ReturnType<typeof createRunStore>;

export function createRunStore(store: Store<AgentDatabase>) {
  const { db, engine, cipher, prepare } = store;
  const { define } = createRunTransitions(store);
  const [claim, release] = [define('claim'), define('release')];
  const now = databaseTime(engine);
  const pending = sql`select 1 from agent_approval where agent_approval.run_id = run.id and agent_approval.status = 'pending'`;
  // A run that waits for its user needs no owner, unless nobody else could continue it or the user has not been notified yet.
  const hasWork = sql<boolean>`(run.status <> 'waiting' or run.aborting = 1 or run.input is null
    or not exists (${pending}) or exists (${pending} and agent_approval.streamed = 0))`;
  const findState = prepare((query, p: { runId: string }) =>
    query
      .selectFrom('agent_run')
      .select(['epoch', 'status', 'aborting', changedAt.as('changed')])
      .where('id', '=', p.runId),
  );
  const ofInstance = prepare((query, p: { instance: string }) =>
    query
      .selectFrom('agent_run')
      .select(['id', 'epoch', 'aborting'])
      .where('instance', '=', p.instance)
      .where('ended_at', 'is', null),
  );
  const interrupted = prepare((query, p: { instance: string; isAlone: number; after: string; limit: number }) =>
    query
      .selectFrom('agent_run as run')
      .leftJoin('agent_instance as owner', 'owner.id', 'run.instance')
      .selectAll('run')
      .where('run.ended_at', 'is', null)
      .where('run.id', '>', p.after)
      .where('run.instance', '<>', p.instance)
      .where((eb) =>
        eb.or([
          sql<boolean>`${p.isAlone} = 1`,
          eb('run.instance', '=', ''),
          eb('owner.seen_at', '<=', eb(now, '-', deadAfterMs)),
          eb('owner.id', 'is', null),
        ]),
      )
      .where(hasWork)
      .orderBy('run.id')
      .limit(p.limit),
  );

  return {
    ...createRunWrites(store),

    async live(sessionId: string): Promise<{ runId: string; status: LiveRunStatus }[]> {
      const rows = await db
        .selectFrom('agent_run')
        .select(['id as runId', 'status'])
        .where('session_id', '=', sessionId)
        .where('ended_at', 'is', null)
        .orderBy('number')
        .execute();
      return rows.map(({ runId, status }) => ({ runId, status: toLiveStatus(status) }));
    },

    async ofInstance(instance: string): Promise<(OwnedRun & { isAborting: boolean })[]> {
      const { rows } = await ofInstance({ instance });
      return rows.map(({ id, epoch, aborting }) => ({ runId: id, epoch, isAborting: aborting === 1 }));
    },

    async state(runId: string): Promise<RunState | undefined> {
      const [row] = (await findState({ runId })).rows;
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
        .select(['id as runId', 'session_id as sessionId', 'status', changedAt.as('changed')])
        .orderBy(changedAt, 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      const runs = rows.map(({ changed, ...run }) => ({ ...run, changedAt: new Date(Number(changed)).toISOString() }));
      return { runs, total: Number(total) };
    },

    async find(userDid: string, runId: string): Promise<StoredRun | undefined> {
      if (!uuidPattern.test(runId)) return undefined;
      const row = await db
        .selectFrom('agent_run')
        .select(['id as runId', 'session_id as sessionId', 'request_id as requestId', 'message_id as messageId'])
        .select(['status', 'input_tokens', 'output_tokens'])
        .where((eb) => eb.and({ id: runId, user_did: userDid }))
        .executeTakeFirst();
      if (!row) return undefined;
      const { input_tokens, output_tokens, ...run } = row;
      return { ...run, usage: { inputTokens: input_tokens ?? 0, outputTokens: output_tokens ?? 0 } };
    },

    async frameBytes(runId: string): Promise<number> {
      const { bytes } = await db
        .selectFrom('agent_frame')
        .select(sql<number | null>`sum(octet_length(body))`.as('bytes'))
        .where('run_id', '=', runId)
        .executeTakeFirstOrThrow();
      return Number(bytes);
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

    /** The oldest few after the id `after` whose instance is dead, so that this one must continue them. An instance that is alone on its database knows that every other one is dead. */
    async listInterrupted(own: {
      instance: string;
      isAlone: boolean;
      after?: string;
      limit: number;
    }): Promise<InterruptedRun[]> {
      const { rows } = await interrupted({ ...own, after: own.after ?? '', isAlone: own.isAlone ? 1 : 0 });
      return rows.map((row) => ({
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
        input: cipher.openRow(sealedTables.run, row, { input: null }).input,
      }));
    },

    async input(runId: string): Promise<string | null> {
      const row = await db.selectFrom('agent_run').selectAll().where('id', '=', runId).executeTakeFirst();
      return row ? cipher.openRow(sealedTables.run, row, { input: null }).input : null;
    },

    /** Makes `instance` the owner; undefined if another was faster or its owner lives after all. From then on nobody else writes of the run. */
    async claim({ runId, epoch }: OwnedRun, instance: string, isAlone = false) {
      const [row] = await claim({ runId, epoch, instance, isAlone: isAlone ? 1 : 0 });
      if (!row) return undefined;
      const { status, aborting, deaths } = row;
      return { epoch: row.epoch, status: toLiveStatus(status), isAborting: aborting === 1, deaths };
    },

    /** Gives a run up, so that another instance continues it at once. */
    release: async (run: OwnedRun): Promise<boolean> => (await release(run)).length > 0,

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

export function toLiveStatus(status: RunStatus): LiveRunStatus {
  return status === 'queued' || status === 'waiting' ? status : 'running';
}
