import type { Process, World } from './world.ts';

export interface Instance {
  process: Process;
  /** Stops as at the end of a deployment. */
  close(): Promise<void>;
}

export interface InstancesParts<I> {
  world: World;
  /** Clocks of processes differ. */
  isSkewed: boolean;
  start(process: Process): Promise<I>;
  /** Counts what has happened. */
  cover(what: string): void;
}

export const disasters = ['crash', 'freeze', 'cut off', 'silence', 'close', 'clock'] as const;
const skewsMs = [-3_600_000, -700, 0, 900, 86_400_000];

/** The processes of a service, each in a slot: one that ends is started again. */
export function createInstances<I extends Instance>({ world, isSkewed, start, cover }: InstancesParts<I>) {
  const running = new Map<string, I>();
  let born = 0;

  function boot(slot: string): void {
    born += 1;
    const skewMs = isSkewed ? world.pick(skewsMs) : 0;
    const process: Process = {
      name: `${slot}${born}`,
      isDead: false,
      frozenUntil: 0,
      cutOffUntil: 0,
      silentUntil: 0,
      skewMs,
    };
    const startAgain = async () => {
      for (;;) {
        try {
          running.set(slot, await start(process));
          world.note('is up');
          return;
        } catch {
          // As a process whose database does not answer at its start, which is started again.
          await world.wait(500);
        }
      }
    };
    world.after(0, () => void startAgain(), process);
  }

  function strike(slot: string): void {
    const instance = running.get(slot);
    if (!instance) return;
    const { process } = instance;
    const what = world.pick(disasters);
    cover(what);
    world.note(`${process.name}: ${what}`);
    if (what === 'crash') {
      process.isDead = true;
      running.delete(slot);
      world.after(world.between(0, 4_000), () => boot(slot), null);
    }
    // Most come back while others take over what was theirs.
    const awayMs = world.oneIn(3) ? world.pick([500, 3_000, 16_000, 30_000]) : world.between(6_000, 14_000);
    if (what === 'freeze') process.frozenUntil = world.now() + awayMs;
    if (what === 'cut off') process.cutOffUntil = world.now() + awayMs;
    // After its last heartbeat an instance counts as alive for some more seconds.
    if (what === 'silence') process.silentUntil = world.now() + awayMs + 5_000;
    if (what === 'clock' && isSkewed) process.skewMs += world.pick([-5_000, 5_000, 60_000]);
    if (what === 'close') {
      running.delete(slot);
      const close = async () => {
        await instance.close().catch(() => {});
        process.isDead = true;
        world.after(world.between(0, 1_000), () => boot(slot), null);
      };
      world.after(0, () => void close(), process);
    }
  }

  /** What somebody asks of some instance. A process that dies never replies. */
  function ask<T>(what: string, request: (instance: I) => Promise<T>, timeoutMs = 90_000): Promise<T> {
    const instance = world.pick([...running.values()]);
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
      world.after(timeoutMs, () => reply(() => reject(new Error(`${what} had no reply`))), null);
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

  return { running, boot, strike, ask };
}
