import { randomUUID } from 'node:crypto';
import { type Checks, createChecks, type Sent, Violation } from './checks.ts';
import { createDatabase, type FaultKind, faultKinds } from './database.ts';
import { createBroker, type Instance, startInstance, toolNames, type Witness } from './instance.ts';
import { createWorld, enter, type Process, type World } from './world.ts';

export interface Outcome {
  seed: number;
  violation: string | undefined;
  /** What happened, in order. */
  log: string[];
  steps: number;
  /** How often each fault met each step of the database, each disaster happened and each transition was taken. */
  coverage: Map<string, number>;
}

const names = ['a', 'b', 'c'];
/** Until then things go wrong. */
const troubleMs = 9_000;
/** Until then everything must have ended. */
const endMs = 400_000;
const disasters = ['crash', 'freeze', 'cut off', 'close', 'clock'] as const;

const database = await createDatabase();

/** Carries out what a seed says: instances, users, and what goes wrong, until all has ended. */
export async function simulate(seed: number): Promise<Outcome> {
  const world = createWorld(seed);
  enter(world);
  const coverage = new Map<string, number>();
  const cover = (what: string) => void coverage.set(what, (coverage.get(what) ?? 0) + 1);
  let violation: string | undefined;
  const guard = (check: () => void) => {
    try {
      check();
    } catch (error) {
      violation ??= error instanceof Violation ? error.message : String((error as Error).stack);
    }
  };
  const isTrouble = () => world.elapsedMs() < troubleMs;
  const faultOneIn = world.pick([0, 3, 6, 12, 30]);
  const checks = createChecks(world, database);
  database.erase({
    world,
    chooseFault: (query): FaultKind => {
      // Most queries are reads, heartbeats and leases.
      const isRare = query !== undefined && /^select|agent_(instance|lease)/.test(query);
      if (faultOneIn === 0 || !isTrouble() || !world.oneIn(isRare ? 6 * faultOneIn : faultOneIn)) return 'fine';
      return world.pick(faultKinds);
    },
    onCommit(what, fault) {
      if (fault !== 'fine') {
        cover(`${fault}: ${what}`);
        world.note(`${what} (${fault})`);
      } else if (!/^(insert into agent_(instance|lease)|select)/.test(what)) world.note(what);
      guard(() => checks.check(what));
    },
  });
  const lossOneIn = world.pick([0, 2, 6, 1]);
  const broker = createBroker(world, () => lossOneIn > 0 && world.oneIn(lossOneIn));
  const witness: Witness = {
    toolStarts: (call) => guard(() => checks.witness.toolStarts(call)),
    turnEnds: (end) => guard(() => checks.witness.turnEnds(end)),
  };
  const instances = new Map<string, Instance>();
  let born = 0;
  const isSkewed = world.oneIn(3);

  function boot(slot: string): void {
    born += 1;
    const skewMs = isSkewed ? world.pick([-3_600_000, -700, 0, 900, 86_400_000]) : 0;
    const process: Process = { name: `${slot}${born}`, isDead: false, frozenUntil: 0, cutOffUntil: 0, skewMs };
    const start = async () => {
      for (;;) {
        try {
          const instance = await startInstance({ world, database, broker, witness, own: checks.own }, process);
          instances.set(slot, instance);
          world.note('is up');
          return;
        } catch {
          // As a process whose database does not answer at its start, which is started again.
          await world.wait(500);
        }
      }
    };
    world.after(0, () => void start(), process);
  }

  function strike(slot: string): void {
    const instance = instances.get(slot);
    if (!instance) return;
    const { process } = instance;
    const what = world.pick(disasters);
    cover(what);
    world.note(`${process.name}: ${what}`);
    if (what === 'crash') {
      process.isDead = true;
      instances.delete(slot);
      world.after(world.between(0, 4_000), () => boot(slot), null);
    }
    if (what === 'freeze') process.frozenUntil = world.now() + world.pick([500, 3_000, 11_000, 16_000, 30_000]);
    if (what === 'cut off') process.cutOffUntil = world.now() + world.pick([500, 3_000, 12_000, 20_000]);
    if (what === 'clock') process.skewMs += world.pick([-5_000, 5_000, 60_000]);
    if (what === 'close') {
      instances.delete(slot);
      const close = async () => {
        await instance.close().catch(() => {});
        process.isDead = true;
        world.after(world.between(0, 1_000), () => boot(slot), null);
      };
      world.after(0, () => void close(), process);
    }
  }

  for (const slot of names.slice(0, world.pick([1, 2, 2, 3, 3]))) boot(slot);
  for (let left = world.pick([0, 0, 1, 1, 2, 3, 4]); left > 0; left -= 1)
    world.after(world.between(300, troubleMs), () => strike(world.pick(names)), null);
  const users = createUsers({ world, checks, instances, guard, cover });
  let steps = 0;
  for (let looked = 0; violation === undefined; steps += 1) {
    if (!(await world.next(endMs))) {
      guard(() => checks.checkEnd(users.sent));
      violation ??= users.waiting.size > 0 ? `${[...users.waiting].join(', ')}: waits for ever` : undefined;
      violation ??= 'runs are left in memory';
      break;
    }
    if (database.isInTransaction()) violation = 'a transaction waits for something else than the database';
    if (world.elapsedMs() < looked + 1_000) continue;
    looked = world.elapsedMs();
    const isOver =
      looked > troubleMs &&
      users.waiting.size === 0 &&
      checks.hasEnded() &&
      [...instances.values()].every(
        ({ turns, process }) => turns.hub.size() === 0 && process.frozenUntil < world.now(),
      );
    if (!isOver) continue;
    guard(() => checks.checkEnd(users.sent));
    break;
  }
  for (const [name, times] of checks.taken) coverage.set(`transition ${name}`, times);
  return { seed, violation, log: world.log, steps, coverage };
}

interface UserParts {
  world: World;
  checks: Checks;
  instances: Map<string, Instance>;
  guard(check: () => void): void;
  cover(what: string): void;
}

/** They send, abort, answer, read, and send again what was not confirmed. */
function createUsers({ world, checks, instances, guard, cover }: UserParts) {
  const userDid = 'did:key:zAna';
  const sent: Sent[] = [];
  const waiting = new Set<string>();
  const sessions: string[] = [];

  /** What a user asks of some instance. A process that dies never replies. */
  function ask<T>(what: string, request: (instance: Instance) => Promise<T>): Promise<T> {
    const instance = world.pick([...instances.values()]);
    return new Promise((resolve, reject) => {
      if (!instance) {
        reject(new Error('nobody is there'));
        return;
      }
      let isOver = false;
      const reply = (give: () => void) => {
        if (isOver || instance.process.isDead) return;
        isOver = true;
        world.after(world.latency(), give, null);
      };
      world.after(
        world.latency(),
        () =>
          void request(instance).then(
            (value) => reply(() => resolve(value)),
            (error) => reply(() => reject(error)),
          ),
        instance.process,
      );
      world.after(90_000, () => reply(() => reject(new Error(`${what} had no reply`))), null);
      const watch = () => {
        if (isOver) return;
        if (instance.process.isDead) {
          isOver = true;
          reject(new Error('the connection is broken'));
        } else world.after(2_000, watch, null);
      };
      watch();
    });
  }

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
    const words = toolNames.filter(() => world.oneIn(3));
    const tag = `#${number}`;
    const message: Sent = { tag, sessionId, messageId: randomUUID(), runIds: new Set() };
    const key = world.oneIn(2) ? `key ${number}` : undefined;
    const replaced = world.oneIn(4) ? world.pick(sent.filter((other) => other.sessionId === sessionId)) : undefined;
    const body = {
      ...{ message: [tag, ...words].join(' '), messageId: message.messageId, stream: false, returnAllMessages: false },
      ...(replaced && { replaces: replaced.messageId }),
    };
    sent.push(message);
    for (let tries = key === undefined ? 1 : 4; tries > 0; tries -= 1) {
      const request = { userDid, sessionId, requestId: randomUUID(), body, key };
      try {
        const run = await ask(`message ${tag}`, ({ turns }) => turns.access.open(request));
        message.runIds.add(run.runId);
        world.note(`${tag} (${words}) is confirmed${replaced ? ` in place of ${replaced.tag}` : ''}`);
        if (world.oneIn(3)) await follow(run.runId);
        return;
      } catch (error) {
        world.note(`${tag}: ${(error as Error).message}`);
        await world.wait(world.between(0, 3_000));
      }
    }
  }

  /** Reads a run to its end, on one instance after the other. */
  async function follow(runId: string): Promise<void> {
    let last = 0;
    let reading = 0;
    for (let tries = 0; tries < 60; tries += 1) {
      reading = tries;
      const isDone = await ask(`reading ${runId}`, async ({ turns }) => {
        const run = await turns.access.resume({ userDid, runId });
        world.note(`is read from ${last}`);
        for await (const event of run.events({ after: last })) {
          // The reader has gone to another instance.
          if (reading !== tries) return false;
          if (event.id !== last + 1 && event.name !== 'done' && event.name !== 'error')
            guard(() => {
              throw new Violation(`a reader gets event ${event.id} after ${last}`);
            });
          last = event.id;
          if (event.name === 'done') return true;
        }
        return false;
      }).catch((error: Error) => {
        world.note(error.message);
        return false;
      });
      if (isDone) return;
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
  for (let left = world.pick([0, 0, 1, 2]); left > 0; left -= 1) later(`abort ${left}`, 300, 8_000, abort);
  for (let left = 8; left > 0; left -= 1) later(`answer ${left}`, 300, 24_000, answer);
  return { sent, waiting };
}
