import { type Approval, agentLimits } from '@palaver/contract';
import type { ApprovalStatus } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { databaseTime } from '@palaver/store/internal';
import type { Capability } from '@palaver/ucan';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Seal } from '../auth/seal.ts';
import type { ToolCallRequest } from '../define/middleware.ts';
import type { OwnedRun } from './run-transitions.ts';
import { createRunTransitions } from './run-transitions.ts';
import type { StepBegin } from './run-writes.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

/** What a user answers when a tool asks for approval. */
export interface ApprovalAnswer {
  userDid: string;
  runId: string;
  approvalId: string;
  approved: boolean;
  reason?: string | undefined;
  /** Where the approval asks for one: what the user signed. */
  invocation?: string | undefined;
}

export interface GatedCall extends ToolCallRequest {
  /** Where it waits for a delegation: what is missing. */
  capability?: Capability;
  /** Where it is made with an invocation of the user: what they have to sign. */
  invocation?: InvocationRequest;
}

export type InvocationRequest = NonNullable<Approval['invocation']>;

export type GatedStep = StepBegin & { userDid: string; calls: GatedCall[] };

export type ApprovalStore = ReturnType<typeof createApprovalStore>;

/** An approval that is answered does not change any more. */
export function createApprovalStore(store: Store<AgentDatabase>, seal: Seal) {
  const { db, engine, cipher, transaction, prepare } = store;
  const now = databaseTime(engine);
  const { define } = createRunTransitions(store);
  const [ask, resume] = [define('ask'), define('resume')];
  const setStreamed = define('frames', [
    (_, run) => sql`update agent_approval set streamed = 1 from ${run} as run
      where agent_approval.run_id = run.id and streamed = 0`,
  ]);
  const toApproval = (row: ApprovalRow) => fromApprovalRow(cipher.openRow(sealedTables.approval, row));
  const ofLiveRuns = sql<boolean>`exists (
    select 1 from agent_run where agent_run.id = agent_approval.run_id and agent_run.ended_at is null
      and agent_run.aborting = 0
  )`;
  const pendingOf = (userDid: string, query: Kysely<AgentDatabase>) =>
    query
      .selectFrom('agent_approval')
      .where((eb) => eb.and({ user_did: userDid, status: 'pending' }))
      .where(ofLiveRuns);
  const isDue = sql<boolean>`status = 'pending' and expires_at <= ${now}`;
  const findDue = prepare((query) => query.selectFrom('agent_approval').select('id').where(isDue).limit(1));

  return {
    /** `not-owned` if the run has ended, is aborted or has another owner; `too-many` if the user has enough to answer. */
    ask: (
      { runId, epoch, number, said, body, userDid, calls }: GatedStep,
      timeoutMs: number,
    ): Promise<'asked' | 'too-many' | 'not-owned'> =>
      transaction(async (trx) => {
        // Within the transaction, so that runs that ask at once are counted one after the other.
        const { pending } = await pendingOf(userDid, trx)
          .select((eb) => eb.fn.countAll<number>().as('pending'))
          .executeTakeFirstOrThrow();
        if (Number(pending) + calls.length > agentLimits.pendingApprovalsPerUser) return 'too-many';
        const [waiting] = await ask({ runId, epoch }, trx);
        if (!waiting) return 'not-owned';
        const row = { run_id: runId, number, said, body, created_at: now };
        // Asked about again, where a delegation has expired meanwhile or a sub-agent asks for more.
        await trx
          .insertInto('agent_step')
          .values(cipher.sealRow(sealedTables.step, row))
          .onConflict((conflict) =>
            conflict
              .columns(['run_id', 'number'])
              .doUpdateSet(({ ref }) => ({ said: ref('excluded.said'), body: ref('excluded.body') })),
          )
          .execute();
        const rows = calls.map(({ toolCallId, toolName, args, capability, invocation }) =>
          cipher.sealRow(sealedTables.approval, {
            id: uuidv7(),
            run_id: runId,
            user_did: userDid,
            call_id: toolCallId,
            tool_name: toolName,
            args: JSON.stringify(args),
            capability: capability ? JSON.stringify(capability) : null,
            invocation: invocation ? JSON.stringify(invocation) : null,
            status: 'pending' as const,
            asked_at: now,
            expires_at: sql<number>`${now} + ${sql.lit(timeoutMs)}`,
          }),
        );
        await trx.insertInto('agent_approval').values(rows).execute();
        return 'asked';
      }),

    /** Notes that the tools of a step that waited begin: they must not begin again. False if the run is not owned. */
    resume: async (run: OwnedRun): Promise<boolean> => (await resume(run)).length > 0,

    /** Undefined if a cell cannot be decrypted. */
    async ofRun(runId: string): Promise<Approval[] | undefined> {
      const own = db.selectFrom('agent_approval').selectAll();
      const rows = await own.where('run_id', '=', runId).orderBy('id').execute();
      const opened = rows.map((row) => cipher.openRow(sealedTables.approval, row, { args: '', reason: '' }));
      return opened.some(({ args, reason }) => args === '' || reason === '') ? undefined : opened.map(fromApprovalRow);
    },

    async signedFor(runId: string): Promise<Map<string, string>> {
      const query = db.selectFrom('agent_approval').select(['id', 'call_id', 'signed']).where('run_id', '=', runId);
      const rows = await query.where('status', '=', 'approved').where('signed', 'is not', null).execute();
      const opened = rows.map((row) => [row.call_id, seal.open(row.signed ?? '', row.id)] as const);
      return new Map(opened.filter((call): call is [string, string] => call[1] !== undefined));
    },

    /** The frames that ask for the approvals of a run are stored: every reader of the run gets them. */
    setStreamed: async (run: OwnedRun): Promise<void> => void (await setStreamed(run)),

    async find({ userDid, runId, approvalId }: Omit<ApprovalAnswer, 'approved'>): Promise<Approval | undefined> {
      const row = await db
        .selectFrom('agent_approval')
        .selectAll()
        .where((eb) => eb.and({ id: approvalId, run_id: runId, user_did: userDid }))
        .executeTakeFirst();
      return row && toApproval(row);
    },

    /** Undefined if it is not there, not the user's, or not pending any more. */
    answer: (
      { userDid, runId, approvalId, approved, reason, invocation }: ApprovalAnswer,
      record: (trx: Transaction<AgentDatabase>, approval: Approval) => Promise<void>,
    ): Promise<Approval | undefined> =>
      transaction(async (trx) => {
        const sealed = cipher.sealRow(sealedTables.approval, { id: approvalId, reason: reason ?? null });
        const signed = approved && invocation ? seal.seal(invocation, approvalId) : null;
        const row = await trx
          .updateTable('agent_approval')
          .set({
            status: approved ? 'approved' : 'refused',
            answered_at: now,
            answered_by: userDid,
            reason: sealed.reason,
            signed,
          })
          .where((eb) => eb.and({ id: approvalId, run_id: runId, user_did: userDid, status: 'pending' }))
          .where('expires_at', '>', now)
          .where(ofLiveRuns)
          .$if(approved, (query) => query.where('capability', 'is', null))
          .$if(approved && invocation === undefined, (query) => query.where('invocation', 'is', null))
          .returningAll()
          .executeTakeFirst();
        if (!row) return undefined;
        const approval = toApproval(row);
        await record(trx, approval);
        return approval;
      }),

    /** Approves what waits for a delegation that the user has given; returns the runs. */
    async grant(userDid: string, isGranted: (capability: Capability) => boolean, trx: Kysely<AgentDatabase> = db) {
      const pending = await pendingOf(userDid, trx)
        .select(['id', 'run_id', 'capability'])
        .where('capability', 'is not', null)
        .where('expires_at', '>', now)
        .execute();
      const granted = pending.filter(({ capability }) => isGranted(JSON.parse(capability ?? '{}')));
      if (granted.length === 0) return [];
      const ids = granted.map(({ id }) => id);
      await trx
        .updateTable('agent_approval')
        .set({ status: 'approved', answered_at: now, answered_by: userDid })
        .where('id', 'in', ids)
        .where('status', '=', 'pending')
        .execute();
      return [...new Set(granted.map(({ run_id }) => run_id))];
    },

    /** Refuses what the runs of a session wait for; returns those runs. */
    async refuseOfSession(sessionId: string, reason: string): Promise<string[]> {
      const pending = await db
        .selectFrom('agent_approval')
        .innerJoin('agent_run', 'agent_run.id', 'agent_approval.run_id')
        .select(['agent_approval.id', 'run_id', 'agent_approval.user_did'])
        .where('session_id', '=', sessionId)
        .where('ended_at', 'is', null)
        .where('agent_approval.status', '=', 'pending')
        .execute();
      for (const { id, user_did } of pending) {
        const sealed = cipher.sealRow(sealedTables.approval, { id, reason });
        await db
          .updateTable('agent_approval')
          .set({ status: 'refused', answered_at: now, answered_by: user_did, reason: sealed.reason })
          .where((eb) => eb.and({ id, status: 'pending' }))
          .execute();
      }
      return pending.map(({ run_id }) => run_id);
    },

    /** Ends those whose time is over; returns their runs. */
    async expire(): Promise<string[]> {
      // Asked first: an update takes the write lock of SQLite even where nothing is due.
      if ((await findDue({})).rows.length === 0) return [];
      const rows = await db
        .updateTable('agent_approval')
        .set({ status: 'expired', answered_at: now })
        .where(isDue)
        .returning('run_id')
        .execute();
      return [...new Set(rows.map(({ run_id }) => run_id))];
    },
  };
}

type ApprovalRow = Selectable<AgentDatabase['agent_approval']>;

/** As clients see it: without the token that the user signed. */
function fromApprovalRow(row: ApprovalRow): Approval {
  return {
    approvalId: row.id,
    toolCallId: row.call_id,
    toolName: row.tool_name,
    args: JSON.parse(row.args),
    ...(row.capability !== null && { capability: JSON.parse(row.capability) }),
    ...(row.invocation !== null && { invocation: JSON.parse(row.invocation) }),
    status: row.status as ApprovalStatus,
    askedAt: toTime(row.asked_at),
    expiresAt: toTime(row.expires_at),
    ...(row.answered_at !== null && { answeredAt: toTime(row.answered_at) }),
    ...(row.answered_by !== null && { answeredBy: row.answered_by }),
    ...(row.reason !== null && { reason: row.reason }),
  };
}

const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
