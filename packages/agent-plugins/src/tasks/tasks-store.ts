import { holdSession } from '@palaver/agent';
import type { OffsetPageQuery, Task, TaskList } from '@palaver/contract/internal';
import type { Migration, SealedTable, Store } from '@palaver/store';
import { createLeases, databaseTime, type LeaseColumns, unreadableText } from '@palaver/store/internal';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { toFirstSchema } from '../plugin-parts.ts';
import { describeSchedule, type Planned, type Schedule, storedScheduleSchema } from './tasks-schedule.ts';

interface TaskTable extends LeaseColumns {
  user_did: string;
  session_id: string;
  prompt: string;
  schedule: string;
  timezone: string;
  status: Task['status'];
  next_run_at: number | null;
  last_run_at: number | null;
  /** Tries of the present run that could not even begin. */
  attempts: number;
  /** Runs in a row that failed. */
  failures: number;
  created_at: number;
  /** The client address of who scheduled it, which limits per address count its runs by; null for a shared one. */
  client: string | null;
  client_hash: string | null;
  ended_at: number | null;
  /** Of the time that is due, once it has begun. */
  run_id: string | null;
}

export type TaskDatabase = { agent_task: TaskTable };

const firstSchema = toFirstSchema([
  sql`create table agent_task (
    id text primary key, user_did text not null,
    session_id text not null references agent_session (id) on delete cascade, prompt text not null,
    schedule text not null, timezone text not null, status text not null, next_run_at bigint, last_run_at bigint,
    attempts integer not null, failures integer not null, claimed_by text, lease_until bigint not null,
    created_at bigint not null, client text, client_hash text, ended_at bigint)`,
  sql`create index agent_task_due on agent_task (status, next_run_at, id)`,
  sql`create index agent_task_by_user on agent_task (user_did, status)`,
  sql`create index agent_task_by_session on agent_task (session_id)`,
  sql`create index agent_task_by_end on agent_task (ended_at)`,
]);

export const taskMigrations: Migration[] = [
  ...firstSchema,
  {
    name: '0002',
    async up(db) {
      await sql`alter table agent_task add column run_id text`.execute(db);
    },
  },
];

/** Nothing uses a task again once it is over. */
export const taskRetention = [{ table: 'agent_task', time: 'ended_at', statuses: ['done', 'failed', 'cancelled'] }];

export type ClaimedTask = ReturnType<typeof toClaimed>;

export const sealedTasks: SealedTable = { table: 'agent_task', key: ['id'], sealed: ['prompt', 'client'] };

export type TaskOwner = { userDid: string; sessionId: string; client?: string | undefined };

interface ClaimOptions {
  instance: string;
  leaseMs: number;
  limit: number;
  perClient?: number;
  running?: readonly (string | undefined)[];
}

type TaskEnd = { status: Task['status']; nextRunAt: number | undefined; ranAt: number; failures: number };

export type TaskStore = ReturnType<typeof createTaskStore>;

export const maxActiveTasks = 50;
const maxLook = 100;

export function createTaskStore(store: Store<TaskDatabase>, hashClient: (client: string) => string) {
  const { db, cipher } = store;
  const open = (row: TaskTable) => cipher.openRow(sealedTasks, row, { prompt: unreadableText, client: null });
  const activeOf = (userDid: string) =>
    db.selectFrom('agent_task').where('user_did', '=', userDid).where('status', '=', 'active');
  const leases = createLeases<TaskTable>(store, 'agent_task');
  const now = databaseTime(store.engine);

  const isFirstOfUser = sql<boolean>`not exists (
    select 1 from agent_task as other
    where other.user_did = agent_task.user_did and other.status = 'active' and other.id <> agent_task.id and (
      (other.claimed_by is not null and other.lease_until > ${now})
      or (other.lease_until <= ${now} and (other.next_run_at < agent_task.next_run_at
        or (other.next_run_at = agent_task.next_run_at and other.id < agent_task.id)))))`;

  /** What is due the longest and may run now, but for addresses that have all their places. */
  const findDue = (full: string[]) =>
    db
      .selectFrom('agent_task')
      .select(['id', 'user_did', 'client_hash', 'status', 'next_run_at'])
      .where('status', '=', 'active')
      .where('next_run_at', '<=', now)
      .where('lease_until', '<=', now)
      .where(isFirstOfUser)
      .$if(full.length > 0, (query) =>
        query.where((eb) => eb.or([eb('client_hash', 'is', null), eb('client_hash', 'not in', [...new Set(full)])])),
      )
      .orderBy('next_run_at')
      .orderBy('id')
      .limit(maxLook)
      .execute();

  return {
    add: (owner: TaskOwner, prompt: string, planned: Planned): Promise<Task | undefined> =>
      store.transaction(async (trx) => {
        await holdSession(trx, owner.sessionId);
        const own = trx.selectFrom('agent_task').where((eb) => eb.and({ user_did: owner.userDid, status: 'active' }));
        const { total } = await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
        if (total >= maxActiveTasks) return undefined;
        const row: TaskTable = {
          id: uuidv7(),
          user_did: owner.userDid,
          session_id: owner.sessionId,
          prompt,
          schedule: JSON.stringify(planned.schedule),
          timezone: planned.timezone,
          status: 'active',
          next_run_at: planned.nextRunAt,
          last_run_at: null,
          attempts: 0,
          failures: 0,
          claimed_by: null,
          lease_until: 0,
          created_at: Date.now(),
          client: owner.client ?? null,
          client_hash: owner.client === undefined ? null : hashClient(owner.client),
          ended_at: null,
          run_id: null,
        };
        await trx.insertInto('agent_task').values(cipher.sealRow(sealedTasks, row)).execute();
        return toTask(row);
      }),

    async list(userDid: string, { limit, offset }: OffsetPageQuery): Promise<TaskList> {
      const { total } = await activeOf(userDid)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const page = activeOf(userDid).selectAll().orderBy('next_run_at').orderBy('id').limit(limit).offset(offset);
      return { tasks: (await page.execute()).map((row) => toTask(open(row))), total, limit, offset };
    },

    listFailed: (limit: number) =>
      db
        .selectFrom('agent_task')
        .select(['id', 'user_did', 'schedule', 'timezone', 'failures', 'ended_at'])
        .where('status', '=', 'failed')
        .orderBy('ended_at', 'desc')
        .limit(limit)
        .execute(),

    async retry(id: string): Promise<boolean> {
      const result = await db
        .updateTable('agent_task')
        .set({ status: 'active', next_run_at: Date.now(), attempts: 0, failures: 0, ended_at: null })
        .where((eb) => eb.and({ id, status: 'failed' }))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },

    /** False if the user has no such task. A run in progress continues to its end. */
    async cancel(userDid: string, id: string): Promise<boolean> {
      const result = await db
        .updateTable('agent_task')
        .set({ status: 'cancelled', next_run_at: null, ended_at: Date.now() })
        .where((eb) => eb.and({ id, user_did: userDid, status: 'active' }))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },

    /** Takes due tasks: one of a user at a time, and one of each address before a second of any, as anyone can make users. */
    async claim({ instance, leaseMs, limit, perClient = limit, running = [] }: ClaimOptions) {
      const clients = [...running];
      const left = (client: string | null) => perClient - clients.filter((hash) => hash === client).length;
      const claimed: ClaimedTask[] = [];
      let isMore = true;
      // A look reads a bounded number of rows. Those of addresses that it filled are left out of the next one.
      while (isMore && claimed.length < limit) {
        const before = claimed.length;
        const due = await findDue(clients.flatMap((hash) => (hash !== undefined && left(hash) <= 0 ? [hash] : [])));
        const places = new Map<string, number>();
        const inTurn = due.map((row) => {
          const owner = row.client_hash ?? row.user_did;
          const place = (places.get(owner) ?? 0) + 1;
          places.set(owner, place);
          return { ...row, place };
        });
        for (const { id, client_hash, place: _, user_did: __, ...from } of inTurn.sort((a, b) => a.place - b.place)) {
          if (claimed.length === limit) break;
          if (client_hash !== null && left(client_hash) <= 0) continue;
          if (!(await leases.take(id, instance, { ms: leaseMs, from }))) continue;
          const row = await db.selectFrom('agent_task').selectAll().where('id', '=', id).executeTakeFirst();
          // Its session was deleted since.
          if (!row) continue;
          claimed.push(toClaimed(open(row)));
          clients.push(client_hash ?? undefined);
        }
        isMore = due.length === maxLook && claimed.length > before;
      }
      return claimed;
    },

    renew: leases.renew,

    async keepRun(id: string, instance: string, runId: string): Promise<void> {
      const own = db.updateTable('agent_task').set({ run_id: runId });
      await own.where((eb) => eb.and({ id, claimed_by: instance })).execute();
    },

    /** Gives a task back that did not run; it is tried again after `waitMs`. */
    postpone: (id: string, instance: string, { waitMs, attempts }: { waitMs: number; attempts: number }) =>
      leases.end(id, instance, { set: { attempts }, afterMs: waitMs }),

    finish: (id: string, instance: string, end: TaskEnd) =>
      leases.end(id, instance, {
        from: { status: 'active' },
        set: {
          status: end.status,
          next_run_at: end.nextRunAt ?? null,
          last_run_at: end.ranAt,
          ended_at: end.status === 'active' ? null : end.ranAt,
          attempts: 0,
          failures: end.failures,
          run_id: null,
        },
      }),
  };
}

export function readSchedule({ schedule }: Pick<TaskTable, 'schedule'>): Schedule {
  return storedScheduleSchema.parse(JSON.parse(schedule));
}

function toClaimed(row: TaskTable) {
  return {
    id: row.id,
    userDid: row.user_did,
    sessionId: row.session_id,
    prompt: row.prompt,
    schedule: readSchedule(row),
    timezone: row.timezone,
    client: row.client ?? undefined,
    clientHash: row.client_hash ?? undefined,
    dueAt: row.next_run_at ?? 0,
    attempts: row.attempts,
    failures: row.failures,
    runId: row.run_id ?? undefined,
  };
}

function toTask(row: TaskTable): Task {
  const toTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: row.id,
    sessionId: row.session_id,
    prompt: row.prompt,
    schedule: describeSchedule(readSchedule(row)),
    timezone: row.timezone,
    status: row.status,
    nextRunAt: toTime(row.next_run_at),
    lastRunAt: toTime(row.last_run_at),
    createdAt: new Date(row.created_at).toISOString(),
  };
}
