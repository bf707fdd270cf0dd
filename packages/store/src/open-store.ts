import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dialect, Kysely, type LogEvent, type Transaction } from 'kysely';
import { createDataCipher } from './cipher/data-cipher.ts';
import type { Engine, RunTransaction } from './engine.ts';
import { createGroupWriter } from './group-writer.ts';
import { checkMigrated, migrate } from './migrate.ts';
import { openPostgres } from './open-postgres.ts';
import { openSqlite, toPath } from './open-sqlite.ts';
import { createPrepareQuery } from './prepare-query.ts';
import { createSqliteReader } from './sqlite-reader.ts';
import type { EngineConnection, Store, StoreOptions } from './store.ts';
import { faultKind, StoreError } from './store-error.ts';

const pingLimitMs = 2_000;
const slowMs = 1_000;
/** Separate connections: requests do not wait for reports. */
const reportConnections = 3;
const migrationLimitMs = 10 * 60_000;
const transactionAttempts = 20;

/**
 * Opens `file:…` (SQLite) or `postgres://…`; rejects with a {@link StoreError} when the database cannot be used.
 *
 * @example
 * ```ts
 * import { openStore } from '@palaver/store';
 *
 * const store = await openStore<{ goat: { id: string } }>('file:./data/herd.sqlite');
 * export const goats = await store.db.selectFrom('goat').selectAll().execute();
 * ```
 */
export async function openStore<DB>(url: string, options: StoreOptions = {}): Promise<Store<DB>> {
  const engine = engineOf(url);
  const { connection, db, transaction, statement, slow } = await connect<DB>(url, options);
  const readDb = await openReplica(db, url, options);
  const writers = new Set<{ close(): Promise<void> }>();
  const ping = shareRuns(() => connection.ping().catch(() => false));
  const findLock = shareRuns(() =>
    (connection.takeLock?.() ?? Promise.resolve()).then(
      () => false,
      (error) => faultKind(error) === 'locked',
    ),
  );
  let closing: Promise<void> | undefined;

  return {
    engine,
    db,
    readDb,
    cipher: createDataCipher(options.dataKeys),
    stats: () => ({ waiting: connection.waiting(), slow: slow() }),
    transaction,
    prepare: createPrepareQuery(db, connection.onPrepare),
    async migrate(component, migrations) {
      if (options.migrations === 'check') return checkMigrated({ db, engine, component, migrations });
      if (engine === 'sqlite') return migrate({ transaction, db, engine, component, migrations });
      // A connection of its own: a step may take longer than a statement of a request may.
      const own = await connect<DB>(url, { ...options, poolSize: 2, statementTimeoutMs: migrationLimitMs });
      const { transaction: apply, db: beside } = own;
      await migrate({ transaction: apply, db: beside, engine, component, migrations }).finally(() => beside.destroy());
    },
    createGroupWriter(writerOptions) {
      const writer = createGroupWriter(writerOptions.singleStatement ? statement : transaction, writerOptions);
      writers.add(writer);
      return writer;
    },
    async ping() {
      if (closing) return false;
      return Promise.race([ping(), sleep(pingLimitMs, false, { ref: false })]);
    },
    isLocked: async () => closing === undefined && findLock(),
    close() {
      closing ??= Promise.all([...writers].map((writer) => writer.close())).then(async () => {
        if (readDb !== db) await readDb.destroy();
        await db.destroy();
      });
      return closing;
    },
  };
}

/** Health checks cannot pile up on a database that does not answer. */
function shareRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function connect<DB>(url: string, options: StoreOptions) {
  const engine = engineOf(url);
  const connection = await (engine === 'sqlite' ? openSqlite(url, options) : openPostgres(url, options));
  let slow = 0;
  const log = ({ queryDurationMillis }: LogEvent) => {
    if (queryDurationMillis >= slowMs) slow++;
  };
  const db = new Kysely<DB>({ dialect: connection.dialect, log });
  // Kysely sets up its driver with the first query, and tears down only what it has set up.
  await db.connection().execute(async () => {});
  return { connection, db, slow: () => slow, ...createRunners(db, engine, connection.isRetryable) };
}

async function openReplica<DB>(db: Kysely<DB>, url: string, options: StoreOptions): Promise<Kysely<DB>> {
  const dialect = await toReadDialect(url, options);
  const readDb = dialect ? new Kysely<DB>({ dialect }) : db;
  await readDb.connection().execute(async () => {});
  return readDb;
}

async function toReadDialect(url: string, options: StoreOptions): Promise<Dialect | undefined> {
  if (engineOf(url) === 'postgres') {
    const { readUrl } = options;
    const opening =
      readUrl === undefined
        ? openPostgres(url, { ...options, poolSize: reportConnections })
        : openPostgres(readUrl, options, url);
    return (await opening).dialect;
  }
  const path = toPath(url);
  const { waitMs = 10_000, statementTimeoutMs: statementMs = 10_000 } = options;
  return path === ':memory:' ? undefined : createSqliteReader({ path, inode: statSync(path).ino, waitMs, statementMs });
}

export function engineOf(url: string): Engine {
  if (url.startsWith('file:')) return 'sqlite';
  if (url.startsWith('postgres://') || url.startsWith('postgresql://')) return 'postgres';
  throw new StoreError('bad-url', 'the database address must begin with file: or postgres://');
}

/** What collided with others runs again: a transaction, or a single statement without one around it. */
function createRunners<DB>(
  db: Kysely<DB>,
  engine: Engine,
  isRetryable: EngineConnection['isRetryable'],
): Record<'transaction' | 'statement', RunTransaction<DB>> {
  const retry = async <T>(run: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (attempt === transactionAttempts || !isRetryable(error)) throw error;
      }
      // Random and growing, so that transactions that collided do not collide again.
      await sleep(Math.random() * Math.min(2 ** attempt * 2, 200));
    }
  };
  return {
    statement: (fn) => retry(() => fn(db as Transaction<DB>)),
    transaction: (fn, { isolation = 'serializable' } = {}) =>
      retry(() =>
        (engine === 'postgres' ? db.transaction().setIsolationLevel(isolation) : db.transaction()).execute(fn),
      ),
  };
}
