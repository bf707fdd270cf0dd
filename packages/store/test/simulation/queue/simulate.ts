import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { createLeases, type LeaseColumns } from '../../../src/leases.ts';
import type { Store } from '../../../src/store.ts';
import { createDatabase, type FaultKind, faultKinds } from '../database.ts';
import { createInstances, disasters, type Instance } from '../instances.ts';
import { createGuard, type Outcome, Violation } from '../outcome.ts';
import { createWorld, enter, type Process, type World } from '../world.ts';

interface Job extends LeaseColumns {
  status: 'due' | 'sending' | 'done' | 'cancelled';
  attempts: number;
}
interface Tables {
  job: Job;
  job_lease: LeaseColumns;
}

const database = await createDatabase<Tables>({
  migrations: {
    job: [
      {
        name: '0001',
        async up(db) {
          await sql`create table job (id text primary key, claimed_by text, lease_until bigint not null default 0,
            status text not null, attempts integer not null default 0)`.execute(db);
          await sql`create table job_lease (id text primary key, claimed_by text, lease_until bigint not null)`.execute(
            db,
          );
        },
      },
    ],
  },
  describe: ([statement = '']) => marks.find(([mark]) => mark.test(statement))?.[1] ?? '',
});

const renewal = /set "lease_until" = .* where "id" = \? and "claimed_by" = \?$/;
const marks: [RegExp, string][] = [
  [/insert into "job_lease"/, 'hold'],
  [/update "job_lease"/, 'give back'],
  [
    /update "job" set "claimed_by" = \?, "lease_until" = 0, "status" = 'cancelled'|set "status" = \?, "attempts"/,
    'take',
  ],
  [renewal, 'renew'],
  [/update "job" set .*"claimed_by" = \?/, 'end'],
  [/update "job" set "status"/, 'cancel'],
  [/^select/, 'find'],
];
const points = ['find', 'take', 'renew', 'end', 'cancel', 'hold', 'give back'];
const faults = faultKinds.filter((kind) => kind !== 'fine');
const names = ['a', 'b', 'c'];
const jobs = ['j1', 'j2', 'j3', 'j4'];
/** Longer than any work takes, unless its process is frozen. */
const leaseMs = 8_000;
const renewMs = 2_500;
const troubleMs = 25_000;
const endMs = 300_000;
const pollMs = 1_000;

export const mustCover = [
  {
    seeds: 500,
    what: [
      ...faults.flatMap((fault) => points.map((point) => `${fault}: ${point}`)),
      ...disasters,
      ...['done', 'tried again', 'cancelled', 'taken over', 'held'],
    ],
  },
];

/** Holders take rows, work at them and give them back, until nothing is left; one name is held for work that is no row. */
export async function simulate(seed: number): Promise<Outcome> {
  const world = createWorld(seed);
  enter(world);
  const coverage = new Map<string, number>();
  const cover = (what: string) => void coverage.set(what, (coverage.get(what) ?? 0) + 1);
  const guard = createGuard();
  const faultOneIn = world.pick([0, 3, 6, 12]);
  const isTask = world.oneIn(2);
  const isCalm = () => faultOneIn === 0 && !disasters.some((what) => coverage.has(what));
  const checks = createChecks(world, { cover, isCalm });
  await database.erase({
    world,
    chooseFault: (query): FaultKind => {
      if (query !== undefined && renewal.test(query) && world.isSilent()) return 'fails';
      return faultOneIn > 0 && world.elapsedMs() < troubleMs && world.oneIn(faultOneIn)
        ? world.pick(faultKinds)
        : 'fine';
    },
    onCommit({ what }, fault) {
      if (fault !== 'fine') cover(`${fault}: ${what}`);
      if (what !== 'find') world.note(fault === 'fine' ? what : `${what} (${fault})`);
      guard.run(checks.check);
    },
  });
  for (const id of jobs) database.sqlite.prepare(`insert into job (id, status) values (?, 'due')`).run(id);
  const instances = createInstances<Instance>({
    world,
    isSkewed: world.oneIn(2),
    start: async (process) => startHolder({ world, process, checks, guard, store: database.openStore(), isTask }),
    cover,
  });
  for (const slot of names.slice(0, world.pick([1, 2, 3, 3]))) instances.boot(slot);
  for (let left = world.pick([0, 1, 2, 4]); left > 0; left -= 1)
    world.after(world.between(300, troubleMs), () => instances.strike(world.pick(names)), null);
  if (world.oneIn(2))
    world.after(
      world.between(300, 10_000),
      () =>
        void database
          .openStore()
          .db.updateTable('job')
          .set({ status: 'cancelled' })
          .where('id', '=', world.pick(jobs))
          .where('status', '=', 'due')
          .execute()
          .catch(() => {}),
      null,
    );
  let steps = 0;
  let looked = 0;
  const hasEnded = await world.run(endMs, () => {
    steps += 1;
    if (guard.violation() !== undefined) return true;
    if (world.elapsedMs() < looked + 1_000) return false;
    looked = world.elapsedMs();
    return looked > troubleMs && checks.left().length === 0;
  });
  if (!hasEnded) guard.fail(`${checks.left().join(', ')}: is never done`);
  return { seed, violation: guard.violation(), log: world.log, steps, coverage };
}

type Checks = ReturnType<typeof createChecks>;

/** A row has one holder as long as its lease lasts by the clock of the database; what is over changes no more. */
function createChecks(world: World, { cover, isCalm }: { cover(what: string): void; isCalm(): boolean }) {
  const read = database.sqlite.prepare('select id, claimed_by, lease_until, status, attempts from job');
  const readLease = database.sqlite.prepare('select id, claimed_by, lease_until from job_lease');
  let before = new Map<string, Job>();
  let lease: LeaseColumns | undefined;
  /** Who made which attempt at a row. */
  const takers = new Map<string, string>();

  function check(): void {
    const now = world.now();
    const after = new Map((read.all() as unknown as Job[]).map((row) => [row.id, row]));
    for (const [id, row] of after) {
      const known = before.get(id);
      if (!known) continue;
      const isOther = known.claimed_by !== null && row.claimed_by !== null && row.claimed_by !== known.claimed_by;
      if (isOther && known.lease_until > Math.ceil(now))
        throw new Violation(`${id} is taken from ${known.claimed_by} before its lease is over`);
      if (isOther && isCalm()) throw new Violation(`${id} is taken from ${known.claimed_by}, which works at it`);
      if (isOther) cover('taken over');
      const isOver = known.status === 'done' || known.status === 'cancelled';
      if (isOver && row.status !== known.status) throw new Violation(`${id} was ${known.status} and is ${row.status}`);
      if (row.attempts > known.attempts + 1 || row.attempts < known.attempts)
        throw new Violation(`the attempts of ${id} go from ${known.attempts} to ${row.attempts}`);
      if (row.status !== known.status && (row.status === 'done' || row.status === 'cancelled')) cover(row.status);
      if (row.attempts > 1 && row.attempts > known.attempts) cover('tried again');
    }
    before = after;
    const held = (readLease.all() as unknown as LeaseColumns[])[0];
    if (
      lease?.claimed_by &&
      held?.claimed_by &&
      held.claimed_by !== lease.claimed_by &&
      lease.lease_until > Math.ceil(now)
    )
      throw new Violation(`the name is taken from ${lease.claimed_by} before its lease is over`);
    if (held) cover('held');
    lease = held;
  }

  return {
    check,
    left: () =>
      [...before.values()].flatMap(({ id, status }) =>
        status === 'due' || status === 'sending' ? [`${id} (${status})`] : [],
      ),
    /** A holder begins to work at a row as it is for this attempt. */
    begins(id: string, holder: string, attempts: number): void {
      const key = `attempt ${attempts} of ${id}`;
      const taker = takers.get(key);
      if (taker !== undefined) throw new Violation(`${key} is made by ${taker} and ${holder}`);
      takers.set(key, holder);
    },
  };
}

interface HolderParts {
  world: World;
  process: Process;
  checks: Checks;
  guard: ReturnType<typeof createGuard>;
  store: Store<Tables>;
  isTask: boolean;
}

/** A process as the outboxes and the tasks have it: looks for what is due, takes it, works with a renewed lease, gives it back. */
function startHolder({ world, process, checks, guard, store, isTask }: HolderParts): Instance {
  const { db } = store;
  const leases = createLeases<Job>(store, 'job');
  const named = createLeases(store, 'job_lease');
  let isStopped = false;
  const active = new Set<Promise<void>>();
  const busy = new Set<string>();

  /** As often as it needs for a while: the reply may be lost. */
  async function repeat<T>(write: () => Promise<T>): Promise<T> {
    const endsAt = performance.now() + 15_000;
    for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 2_000)) {
      try {
        return await write();
      } catch (error) {
        if (performance.now() > endsAt) throw error;
      }
      await world.wait(pauseMs);
    }
  }

  async function workAt(row: Job): Promise<void> {
    // A task is taken by its process, and nothing of it is changed; an entry of an outbox counts its attempts, each with a name of its own.
    const holder = isTask ? process.name : randomUUID();
    const attempts = row.attempts + 1;
    const from = isTask ? { status: row.status } : { status: row.status, attempts: row.attempts };
    const set = isTask ? {} : { status: 'sending' as const, attempts };
    const isTaken = await repeat(() => leases.take(row.id, holder, { ms: leaseMs, from, set }));
    if (!isTaken) return;
    if (!isTask) guard.run(() => checks.begins(row.id, holder, attempts));
    world.note(`works at ${row.id}, attempt ${attempts}`);
    const renewing = setInterval(() => void leases.renew(row.id, holder, leaseMs).catch(() => {}), renewMs);
    await world.wait(world.oneIn(4) ? world.between(0, 12_000) : world.latency());
    clearInterval(renewing);
    const isDone = !world.oneIn(3);
    await repeat(() =>
      leases.end(
        row.id,
        holder,
        isDone
          ? { set: { status: 'done' }, from: { status: isTask ? 'due' : 'sending' } }
          : { set: isTask ? {} : { status: 'due' }, afterMs: Math.round(world.between(0, 4_000)) },
      ),
    );
  }

  async function round(): Promise<void> {
    const holder = process.name;
    if (world.oneIn(2) && (await named.hold('sweep', holder, leaseMs))) {
      await world.wait(world.latency());
      await named.end('sweep', holder);
    }
    const due = await db
      .selectFrom('job')
      .selectAll()
      .where('status', 'in', ['due', 'sending'])
      .where('lease_until', '<=', world.now())
      .execute();
    for (const row of due) {
      if (busy.has(row.id)) continue;
      busy.add(row.id);
      const work = workAt(row)
        .catch(() => {})
        .finally(() => {
          active.delete(work);
          busy.delete(row.id);
        });
      active.add(work);
    }
  }

  async function poll(): Promise<void> {
    while (!isStopped) {
      await round().catch(() => {});
      await world.wait(pollMs);
    }
  }
  void poll();
  return {
    process,
    async close() {
      isStopped = true;
      await Promise.all(active);
    },
  };
}
