import { DatabaseSync } from 'node:sqlite';
import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  SqliteIntrospector,
  type Transaction,
} from 'kysely';
import { createDataCipher } from '../../src/cipher/data-cipher.ts';
import type { RunTransaction } from '../../src/engine.ts';
import { createGroupWriter } from '../../src/group-writer.ts';
import { type Migration, migrate } from '../../src/migrate.ts';
import { createSqliteDialect, LimitCastingCompiler, QueueingAdapter } from '../../src/open-sqlite.ts';
import { createPrepareQuery, type PreparedQuery } from '../../src/prepare-query.ts';
import type { Store } from '../../src/store.ts';
import { StoreError } from '../../src/store-error.ts';
import { openServer } from './server.ts';
import type { World } from './world.ts';

/** What becomes of a query or a transaction. */
export const faultKinds = ['fine', 'slow', 'fails', 'reply lost', 'commits later'] as const;
export type FaultKind = (typeof faultKinds)[number];

export type Database<DB> = Awaited<ReturnType<typeof createDatabase<DB>>>;

export interface DatabaseParts {
  /** By their components. */
  migrations: Record<string, readonly Migration[]>;
  /** A name for what these statements do together. */
  describe(statements: string[]): string;
  /** In place of SQLite, which is then a copy for the checks. The order of what happens is not the seed's alone any more. */
  postgresUrl?: string | undefined;
}

/** What a seed decides about the database. */
export interface Disturbance {
  world: World;
  /** Asked for every query outside of a transaction, which is given, and for every transaction. */
  chooseFault(query: string | undefined): FaultKind;
  /** After each query outside of a transaction, and each transaction. */
  onCommit(done: Described, fault: FaultKind): void;
}

/** Statements that were executed together. */
export interface Described {
  what: string;
  isRead: boolean;
  /** Which it may have changed. */
  tables: ReadonlySet<string>;
}

/** A transaction that fails does so at its commit. */
class Refused extends Error {}

const unreachable = () => new StoreError('unreachable', 'the simulated database did not answer');

/**
 * The real SQLite in memory, with the real statements of the store. Each query outside of a transaction, and each transaction,
 * is one step of the world: its request and its reply take their time, and either may be lost.
 */
export async function createDatabase<DB>({ migrations: all, describe, postgresUrl }: DatabaseParts) {
  const sqlite = new DatabaseSync(':memory:', { enableForeignKeyConstraints: postgresUrl === undefined });
  // Before each change SQLite copies the pages that it changes. Tables have a few rows, each index a page.
  sqlite.exec('pragma page_size = 1024');
  let disturbance: Disturbance | undefined;
  const plain = new Kysely<DB>({
    dialect: createSqliteDialect(sqlite, { waitMs: 1, isInPlace: () => true }).dialect,
  });
  const plainly: RunTransaction<DB> = (fn) => plain.transaction().execute(fn);
  for (const [component, migrations] of Object.entries(all))
    await migrate({ transaction: plainly, db: plain, engine: 'sqlite', component, migrations });
  sqlite.function('unixepoch', { varargs: true }, () => (disturbance?.world.now() ?? 0) / 1000);
  const server = postgresUrl === undefined ? undefined : await openServer(postgresUrl, all);
  const tables = tablesOf(sqlite).filter((name) => !/migration/.test(name));
  const erasing = ['begin', ...tables.map((name) => `delete from ${name}`), 'commit'].map((text) =>
    sqlite.prepare(text),
  );
  const described = new Map<string, Described>();
  /** Texts are few, and matching them takes longer than executing them. */
  function describeOnce(texts: string[]) {
    const key = texts.length === 1 ? (texts[0] as string) : texts.join(';');
    let found = described.get(key);
    if (!found) {
      found = {
        what: describe(texts),
        isRead: texts.every((text) => text.startsWith('select ')),
        tables: new Set(texts.flatMap((text) => tables.filter((table) => mayChange(text, table)))),
      };
      described.set(key, found);
    }
    return found;
  }
  const report = ({ onCommit }: Disturbance, texts: string[], fault: FaultKind) => onCommit(describeOnce(texts), fault);

  /** The statements since the last step. */
  let statements: string[] = [];
  async function step<T>(work: (mayCommit: boolean) => Promise<T>, query?: string): Promise<T> {
    if (!disturbance) return work(true);
    const disturbing = disturbance;
    const { world, chooseFault } = disturbing;
    const fault = chooseFault(query);
    const process = world.process();
    const isCutOff = () => (process?.cutOffUntil ?? 0) > world.now();
    if (fault === 'commits later') {
      const delay = world.oneIn(2) ? world.between(1, 300) : world.between(100, 15_000);
      // By nobody: whoever sent it may be dead by then.
      world.after(delay, () => void commit(() => work(true)).catch(() => {}), null);
      await world.wait(world.latency());
      throw unreachable();
    }
    await world.wait(world.latency());
    if (isCutOff() || fault === 'fails') {
      if (!isCutOff() && query === undefined) await commit(() => work(false)).catch(() => {});
      else if (!isCutOff()) report(disturbing, [query ?? ''], fault);
      await world.wait(world.between(0, 3_000));
      throw unreachable();
    }
    const outcome = await commit(() => work(true)).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await world.wait(fault === 'slow' ? world.between(500, 20_000) : world.latency());
    if (isCutOff() || fault === 'reply lost') {
      await world.wait(world.between(0, 3_000));
      throw unreachable();
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.value;

    async function commit(part: () => Promise<T>): Promise<T> {
      statements = [];
      try {
        return await world.within(process, () => (server ? world.standStill(() => onServer(part)) : part()));
      } finally {
        world.within(process, () => report(disturbing, statements, fault));
      }
    }
    async function onServer<T>(part: () => Promise<T>): Promise<T> {
      await server?.setTime(world.now());
      try {
        return await part();
      } finally {
        const texts = statements.filter((text) => !text.startsWith('select ')).join(' ');
        for (const table of tables)
          if (texts.includes(table) && !/audit/.test(table)) await server?.copy(table, sqlite);
      }
    }
  }

  const execute = createSqliteDialect(sqlite, { waitMs: 1, isInPlace: () => true }).dialect.createDriver();
  const inner = await execute.acquireConnection();
  let isInTransaction = false;
  const connection: DatabaseConnection = {
    ...inner,
    streamQuery: inner.streamQuery,
    executeQuery(query) {
      const run = () => {
        statements.push(query.sql);
        return server ? server.execute(query) : inner.executeQuery<never>(query);
      };
      return isInTransaction ? run() : step(run, query.sql);
    },
  };
  const driver: Driver = {
    async init() {},
    acquireConnection: async () => connection,
    async beginTransaction() {
      if (isInTransaction) throw new Error('a transaction is open while another begins');
      if (server) await server.begin();
      else sqlite.exec('begin immediate');
      isInTransaction = true;
    },
    async commitTransaction() {
      if (server) await server.commit();
      else sqlite.exec('commit');
      isInTransaction = false;
    },
    async rollbackTransaction() {
      if (server) await server.rollback();
      else sqlite.exec('rollback');
      isInTransaction = false;
    },
    async releaseConnection() {},
    async destroy() {},
  };
  const dialect: Dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => server?.dialect.createQueryCompiler() ?? new LimitCastingCompiler(),
    createAdapter: () => server?.dialect.createAdapter() ?? new QueueingAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
  const db = new Kysely<DB>({ dialect });
  const transaction: RunTransaction<DB> = (fn) =>
    step((mayCommit) =>
      db.transaction().execute(async (trx) => {
        const result = await fn(trx);
        if (!mayCommit) throw new Refused();
        return result;
      }),
    );
  const compiledOf = new Map<string, unknown[]>();

  return {
    sqlite,
    /** Between two seeds. */
    async erase(next: Disturbance | undefined): Promise<void> {
      disturbance = undefined;
      if (isInTransaction) await driver.rollbackTransaction(connection);
      await server?.erase(tables);
      for (const statement of erasing) statement.run();
      disturbance = next;
    },
    isInTransaction: () => isInTransaction,
    /** A store of one process, or of a part that all of them share. */
    openStore(part = ''): Store<DB> {
      const compiled = compiledOf.get(part) ?? [];
      compiledOf.set(part, compiled);
      const prepare = createPrepareQuery(db);
      let prepared = 0;
      return {
        engine: server ? 'postgres' : 'sqlite',
        db,
        readDb: db,
        cipher: createDataCipher(),
        transaction,
        // Every process prepares the same queries in the same order. Compiled once, and executed without Kysely's way to the one
        // connection, they are much less of the time of a seed.
        prepare: ((build: never) => {
          const at = prepared++;
          compiled[at] ??= prepare(build);
          const execute = compiled[at] as PreparedQuery<DB, unknown, unknown>;
          return (params: unknown, trx?: Kysely<DB>) => execute(params, trx ?? (connection as unknown as Kysely<DB>));
        }) as typeof prepare,
        async migrate() {},
        createGroupWriter: (options) =>
          createGroupWriter<DB, never, never>(
            options.singleStatement ? (fn) => fn(db as Transaction<DB>) : transaction,
            options as never,
          ) as never,
        stats: () => ({ waiting: 0, slow: 0 }),
        ping: async () => true,
        isLocked: async () => false,
        async close() {},
      };
    },
  };
}

/** A deletion may go on to rows that refer to its own. */
function mayChange(text: string, table: string): boolean {
  return !text.startsWith('select ') && (text.includes(table) || text.includes('delete from'));
}

/** Those that refer to others come first: a pragma that turns references off would have every statement compiled again. */
function tablesOf(sqlite: DatabaseSync): string[] {
  const names = sqlite
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
    .all()
    .map(({ name }) => String(name));
  const ordered: string[] = [];
  const add = (name: string) => {
    if (ordered.includes(name)) return;
    const referring = sqlite.prepare(
      'select schema.name from sqlite_schema as schema, pragma_foreign_key_list(schema.name) as reference where reference."table" = ?',
    );
    for (const { name: child } of referring.all(name)) if (child !== name) add(String(child));
    ordered.push(name);
  };
  names.forEach(add);
  return ordered;
}
