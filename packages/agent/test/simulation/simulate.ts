import { randomUUID } from 'node:crypto';
import { env } from 'node:process';
import { auditMigrations } from '@palaver/store/internal';
import { taskMigrations } from '../../../agent-plugins/src/tasks/tasks-store.ts';
import { createDatabase, type FaultKind, faultKinds } from '../../../store/test/simulation/database.ts';
import { createInstances, disasters } from '../../../store/test/simulation/instances.ts';
import { createGuard, type Outcome, Violation } from '../../../store/test/simulation/outcome.ts';
import { createWorld, enter, type World } from '../../../store/test/simulation/world.ts';
import { transitions } from '../../src/runs/transitions.ts';
import { agentMigrations } from '../../src/store/migrate.ts';
import type { AgentDatabase } from '../../src/store/schema.ts';
import { type Checks, createChecks, createSelects, type Sent } from './checks.ts';
import { describe } from './describe.ts';
import { createBroker, type Instance, openIdentity, startInstance, toolNames } from './instance.ts';

const names = ['a', 'b', 'c'];
/** Until then users and disasters act. */
const troubleMs = 9_000;
/** Until then the database fails: owners that are gone lose their runs after ten seconds. */
const faultsMs = 20_000;
/** Who was away is back by then. */
const longestAwayMs = 40_000;
/** Until then everything must have ended. */
const endMs = 400_000;
const faults = faultKinds.filter((kind) => kind !== 'fine');

export const mustCover = [
  {
    seeds: 2_000,
    what: [
      ...Object.keys(transitions).map((name) => `transition ${name}`),
      ...disasters,
      ...['confirmed abort', 'approved', 'refused', 'sent again with its key', 'lost broadcast', 'read to its end'],
      'scheduled task',
    ],
  },
  {
    seeds: 10_000,
    what: faults.flatMap((fault) =>
      [...Object.keys(transitions), 'update agent_approval', 'take a task', 'end a task'].map(
        (at) => `${fault}: ${at}`,
      ),
    ),
  },
];

const database = await createDatabase<AgentDatabase>({
  migrations: { audit: auditMigrations, agent: agentMigrations, tasks: taskMigrations },
  describe,
  // biome-ignore lint/style/noProcessEnv: the program that starts this process says so, once it has started the server.
  postgresUrl: env.SIMULATION_POSTGRES_URL,
});

const identity = openIdentity(database);
const selects = createSelects(database);

/** Carries out what a seed says: instances, users, and what goes wrong, until all has ended. */
export async function simulate(seed: number): Promise<Outcome> {
  const world = createWorld(seed);
  enter(world);
  const coverage = new Map<string, number>();
  const cover = (what: string) => void coverage.set(what, (coverage.get(what) ?? 0) + 1);
  const guard = createGuard();
  const isTrouble = () => world.elapsedMs() < faultsMs;
  const faultOneIn = world.pick([0, 3, 6, 12, 30]);
  const checks = createChecks(world, selects);
  await database.erase({
    world,
    chooseFault: (query): FaultKind => {
      if (query !== undefined && /^insert into "agent_instance"/.test(query) && world.isSilent()) return 'fails';
      // Most queries are reads, heartbeats and leases.
      const isRare = query !== undefined && /^select|agent_(instance|lease)/.test(query);
      const isOfOwners = query !== undefined && /^update agent_run set instance/.test(query);
      const oneIn = isRare ? 6 * faultOneIn : isOfOwners ? faultOneIn / 3 : faultOneIn;
      if (faultOneIn === 0 || !isTrouble() || !world.oneIn(oneIn)) return 'fine';
      return world.pick(faultKinds);
    },
    onCommit({ what, isRead, tables }, fault) {
      if (fault !== 'fine') {
        for (const part of new Set(what.split('+'))) cover(`${fault}: ${part}`);
        world.note(`${what} (${fault})`);
      } else if (!isRead && !/^insert into agent_(instance|lease)/.test(what)) world.note(what);
      if (!isRead) guard.run(() => checks.check(fault === 'fails' ? '' : what, tables));
    },
  });
  const lossOneIn = world.pick([0, 2, 6, 1]);
  const broker = createBroker(world, () => {
    const isLost = lossOneIn > 0 && world.oneIn(lossOneIn);
    if (isLost) cover('lost broadcast');
    return isLost;
  });
  const tasks = world.pick([0, 0, 1, 2]);
  const instances = createInstances<Instance>({
    world,
    isSkewed: world.oneIn(3),
    start: (process) =>
      startInstance(
        { world, database, identity, broker, witness: checks.witness, guard, own: checks.own, hasTasks: tasks > 0 },
        process,
      ),
    cover,
  });
  for (const slot of names.slice(0, world.pick([1, 2, 2, 3, 3]))) instances.boot(slot);
  for (let left = world.pick([0, 0, 1, 1, 2, 3, 4]); left > 0; left -= 1)
    world.after(world.between(300, troubleMs), () => instances.strike(world.pick(names)), null);
  const hasLostProcess = () => coverage.has('crash') || coverage.has('close');
  const users = createUsers({ world, checks, instances, tasks, guard: guard.run, cover });
  let steps = 0;
  let looked = 0;
  const hasEnded = await world.run(endMs, () => {
    steps += 1;
    if (database.isInTransaction()) guard.fail('a transaction waits for something else than the database');
    if (guard.violation() !== undefined) return true;
    if (world.elapsedMs() < looked + 1_000) return false;
    looked = world.elapsedMs();
    guard.run(() => checks.checkQueue(looked > troubleMs + longestAwayMs));
    const isQuiet =
      looked > troubleMs &&
      users.waiting.size === 0 &&
      checks.hasEnded() &&
      [...instances.running.values()].every(
        ({ turns, process }) => turns.hub.size() === 0 && process.frozenUntil < world.now(),
      );
    if (!isQuiet) return false;
    const active = checks.activeTasks();
    if (active.length === 0) return true;
    // A task whose run takes long is looked at a minute later.
    if (active.every(({ holder }) => holder === null))
      world.leap(Math.min(...active.map(({ dueAt }) => dueAt)) - world.now());
    return false;
  });
  if (guard.violation() === undefined) guard.run(() => checks.checkEnd(users.sent, hasLostProcess()));
  if (!hasEnded)
    guard.fail(users.waiting.size > 0 ? `${[...users.waiting].join(', ')}: waits for ever` : 'runs are left in memory');
  for (const [name, times] of checks.taken) coverage.set(`transition ${name}`, times);
  return { seed, violation: guard.violation(), log: world.log, steps, coverage };
}

interface UserParts {
  world: World;
  checks: Checks;
  instances: ReturnType<typeof createInstances<Instance>>;
  /** How many are scheduled. */
  tasks: number;
  guard(check: () => void): void;
  cover(what: string): void;
}

/** They send, abort, answer, read, and send again what was not confirmed. */
function createUsers({ world, checks, instances, tasks, guard, cover }: UserParts) {
  const userDid = 'did:key:zAna';
  const sent: Sent[] = [];
  const waiting = new Set<string>();
  const sessions: string[] = [];

  const { ask } = instances;

  async function openSession(): Promise<void> {
    while (sessions.length === 0) {
      await ask('a session', ({ turns }) => turns.sessions.create(userDid, {})).then(
        ({ sessionId }) => sessions.push(sessionId),
        () => world.wait(300),
      );
    }
  }

  async function send(number: number): Promise<void> {
    await openSession();
    const sessionId = world.pick(sessions);
    const words = toolNames.filter(() => world.oneIn(2));
    const tag = `#${number}`;
    const message: Sent = { tag, sessionId, messageId: randomUUID(), runIds: new Set() };
    const key = world.oneIn(2) ? `key ${number}` : undefined;
    const replaced = world.oneIn(4) ? world.pick(sent.filter((other) => other.sessionId === sessionId)) : undefined;
    const body = {
      message: [tag, ...words].join(' '),
      messageId: message.messageId,
      stream: false,
      returnAllMessages: false,
      ...(replaced && { replaces: replaced.messageId }),
    };
    sent.push(message);
    if (replaced) checks.replacementAsked(replaced);
    for (let tries = key === undefined ? 1 : 4; tries > 0; tries -= 1) {
      const request = { userDid, sessionId, requestId: randomUUID(), body, key };
      try {
        const run = await ask(`message ${tag}`, ({ turns }) => turns.access.open(request));
        message.runIds.add(run.runId);
        if (replaced) guard(() => checks.replaced(replaced));
        if (tries < 4 && key !== undefined) cover('sent again with its key');
        world.note(`${tag} (${words}) is confirmed${replaced ? ` in place of ${replaced.tag}` : ''}`);
        if (world.oneIn(3)) await follow(run.runId);
        return;
      } catch (error) {
        world.note(`${tag}: ${(error as Error).message}`);
        await world.wait(world.between(0, 3_000));
      }
    }
  }

  /** A message that the service sends itself, once. */
  async function schedule(number: number): Promise<void> {
    await openSession();
    const words = toolNames.filter((name) => name !== 'sign' && world.oneIn(2));
    const at = Math.round(world.now() + world.between(0, 4_000));
    const planned = { schedule: { kind: 'once', at }, timezone: 'UTC', nextRunAt: at } as const;
    const owner = { userDid, sessionId: world.pick(sessions) };
    const task = [`#t${number}`, ...words].join(' ');
    await ask('a task', ({ tasks }) => tasks.add(owner, task, planned)).then(
      () => cover('scheduled task'),
      () => {},
    );
  }

  /** Reads a run to its end, on one instance after the other. */
  async function follow(runId: string): Promise<void> {
    let last = 0;
    let reading = 0;
    const take = checks.reads(runId);
    for (let tries = 0; tries < 60; tries += 1) {
      reading = tries;
      const isDone = await ask(`reading ${runId}`, async ({ turns }) => {
        const run = await turns.access.resume({ userDid, runId });
        world.note(`is read from ${last}`);
        for await (const event of run.events({ after: last })) {
          // The reader has gone to another instance.
          if (reading !== tries) return false;
          guard(() => take(event));
          last = event.id;
          if (event.name === 'done') return true;
        }
        return false;
      }).catch((error: Error) => {
        world.note(error.message);
        return false;
      });
      if (isDone) {
        cover('read to its end');
        return;
      }
      await world.wait(1_000);
    }
    guard(() => {
      throw new Violation('a reader never gets to the end of its run');
    });
  }

  async function abort(): Promise<void> {
    const target = world.pick(checks.runs().filter(({ status }) => ['queued', 'running', 'waiting'].includes(status)));
    if (!target) return;
    const runId = target.id;
    checks.abortAsked(runId);
    const isConfirmed = await ask('an abort', ({ turns }) => turns.hub.abort(target.session, { runId })).catch(
      () => false,
    );
    if (!isConfirmed) return;
    cover('confirmed abort');
    world.note(`the abort of run ${target.number} is confirmed`);
    checks.abortConfirmed(runId);
  }

  async function answer(): Promise<void> {
    const approval = world.pick(checks.pending());
    if (!approval) return;
    const { id: approvalId, runId } = approval;
    const approved = !world.oneIn(4);
    await ask('an answer', ({ turns }) => turns.access.answerApproval({ userDid, runId, approvalId, approved })).then(
      () => cover(approved ? 'approved' : 'refused'),
      () => {},
    );
  }

  const later = (name: string, least: number, most: number, work: () => Promise<void>) => {
    waiting.add(name);
    const start = () =>
      void work().finally(() => {
        waiting.delete(name);
      });
    world.after(world.between(least, most), start, null);
  };
  const messages = world.pick([1, 1, 2, 2, 3, 4]);
  for (let number = 1; number <= messages; number += 1)
    later(`the sender of #${number}`, 100, 5_000, () => send(number));
  for (let left = tasks; left > 0; left -= 1) later(`task ${left}`, 300, 5_000, () => schedule(left));
  for (let left = world.pick([0, 0, 1, 2]); left > 0; left -= 1) later(`abort ${left}`, 300, 8_000, abort);
  // Nobody waits for these: all may have ended before.
  for (let left = 8; left > 0; left -= 1) world.after(world.between(300, 24_000), () => void answer(), null);
  return { sent, waiting };
}
