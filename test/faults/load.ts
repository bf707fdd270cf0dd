import type { World } from './world.ts';

/** What a load has found so far. */
export interface Tally {
  confirmed: number;
  lost: number;
  doubled: number;
  stuck: number;
  /** One line for each thing that is wrong. */
  findings: string[];
}

/** Callers that never stop, and remember everything that was confirmed to them. */
export interface Load {
  start(): void;
  /** When something was confirmed last, by `performance.now()`. */
  lastConfirmed(): number;
  /** Ends the callers; requests without a reply are repeated until they are answered. */
  stop(): Promise<void>;
  /** Compares every confirmation with the database. */
  check(): Promise<Tally>;
}

/** Runs `caller` so many times side by side until stopped. */
export function createCallers(count: number, caller: (index: number, isStopped: () => boolean) => Promise<void>) {
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();
  return {
    start() {
      stopped = false;
      running = Promise.all(Array.from({ length: count }, (_, index) => caller(index, () => stopped)));
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Reads rows straight from the database, past the services and the failing network. */
export async function readRows(world: World, sql: string): Promise<Record<string, unknown>[]> {
  if (world.engine === 'sqlite') {
    const { DatabaseSync } = await import('node:sqlite');
    using database = new DatabaseSync(world.databaseUrl().slice('file:'.length), { readOnly: true });
    return database.prepare(sql).all() as Record<string, unknown>[];
  }
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: world.databaseUrl() });
  await client.connect();
  return (await client.query(sql).finally(() => client.end())).rows;
}

/** A request to one instance, to the next when that one fails; rejects when `timeoutMs` have passed. */
export function pickUrl(world: World, turn: number): string {
  return world.instances[turn % world.instances.length]?.url ?? '';
}
