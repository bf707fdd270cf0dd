import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type CompiledQuery,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { bindValue, EachRow } from './prepare-query.ts';
import type { EngineConnection, StoreOptions } from './store.ts';
import { faultKind, messageOf, StoreError } from './store-error.ts';

/** Longer than the writes of other programs, such as a backup, and shorter than health checks wait. */
const lockWaitMs = 1_000;
/** Commits wait for the disk. Node takes one new connection in a turn of its event loop, and nothing else is served in a long one. */
const maxTurnMs = 5;

export async function openSqlite(url: string, options: StoreOptions): Promise<EngineConnection> {
  const path = toPath(url);
  const waitMs = options.waitMs ?? 10_000;
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') createPrivateFile(path);
    // SQLite's own busy timeout blocks the event loop; it only bridges the moment of a commit, `waitMs` the rest.
    const opened = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5 });
    database = opened;
    // Two processes that switch a new file to WAL together get "locked" at once, without SQLite's busy timeout.
    await retryWhileLocked(() => opened.exec('pragma journal_mode = wal'), waitMs);
    database.exec('pragma synchronous = full');
    // Erased content is overwritten, not only unlinked.
    database.exec('pragma secure_delete = on');
    await retryWhileLocked(() => opened.exec('begin immediate; rollback'), waitMs);
    const inodeNow = () => (path === ':memory:' ? 0 : statSync(path, { throwIfNoEntry: false })?.ino);
    const inode = inodeNow();
    const isInPlace = () => inodeNow() === inode;
    const inTurns = path !== ':memory:' && { turnMs: maxTurnMs };
    const { dialect, waiting } = createSqliteDialect(database, { waitMs, isInPlace, ...inTurns });
    return {
      dialect,
      waiting,
      ping: async () => opened.prepare('select count(*) from sqlite_schema').all().length === 1 && isInPlace(),
      isRetryable: () => false,
      // Inside its own transaction this connection has the lock.
      takeLock: () =>
        retryWhileLocked(() => void (opened.isTransaction || opened.exec('begin immediate; rollback')), lockWaitMs),
    };
  } catch (error) {
    database?.close();
    throw openFault(path, error);
  }
}

/** Only its owner may read the file. SQLite gives the files beside it (-wal, -shm) the same mode. */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
}

export function toPath(url: string): string {
  const rest = url.slice('file:'.length);
  if (rest === ':memory:') return rest;
  try {
    if (rest !== '' && !/[?#]/.test(rest)) return resolve(rest.startsWith('//') ? fileURLToPath(url) : rest);
  } catch {
    // A host name or a broken escape in file://… is refused below like every other address that is not a path.
  }
  const expected = 'expected for example file:./data/palaver.sqlite';
  throw new StoreError('bad-url', `the database address "${url}" is not a path; ${expected}`);
}

function openFault(path: string, error: unknown): StoreError {
  const kind = faultKind(error);
  if (kind === 'locked') return new StoreError(kind, `the SQLite database ${path} is locked by another process`, error);
  if (kind === 'corrupt') return new StoreError(kind, `${path} is not a SQLite database, or it is damaged`, error);
  return new StoreError('unwritable', `cannot write the SQLite database ${path}: ${messageOf(error)}`, error);
}

// Holds until the result is called or the process ends. The lock is on another file, so that backups can read this one.
export function claimSqliteFile(url: string): () => void {
  const path = toPath(url);
  if (path === ':memory:') return () => {};
  const lockPath = `${path}.lock`;
  createPrivateFile(lockPath);
  const lock = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (faultKind(error) !== 'locked') throw error;
    const remedy = 'Stop it, or set DATABASE_URL to a PostgreSQL database, which several processes can share';
    throw new StoreError('locked', `Another process uses the SQLite database ${path}. ${remedy}.`, error);
  }
  return () => lock.close();
}

const statementCacheSize = 500;

interface SqliteOptions {
  /** How long a query waits for the connection, and again for other processes. */
  waitMs: number;
  /** How long queries may follow each other in one turn of the event loop; unlimited by default. */
  turnMs?: number;
  isInPlace(): boolean;
}

export function createSqliteDialect(database: DatabaseSync, options: SqliteOptions) {
  const driver = createDriver(database, options);
  return { dialect: toDialect(driver), waiting: driver.waiting };
}

export function toDialect(driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new LimitCastingCompiler(),
    createAdapter: () => new QueueingAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Kysely's own mutex waits forever; the driver below queues with a limit. */
export class QueueingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** SQLite compiles a statement with a bare `limit ?` again whenever a value is bound, which takes longer than most queries. */
export class LimitCastingCompiler extends SqliteQueryCompiler {
  protected override visitLimit({ limit }: LimitNode): void {
    this.append('limit cast(');
    this.visitNode(limit);
    this.append(' as integer)');
  }
}

function createDriver(
  database: DatabaseSync,
  { waitMs, turnMs = Number.POSITIVE_INFINITY, isInPlace }: SqliteOptions,
): Driver & { waiting(): number } {
  const connection = createConnection(database, waitMs);
  const run = async (sql: string) => void (await connection.executeQuery({ sql, parameters: [] }));
  const waiting: (() => void)[] = [];
  let isTaken = false;
  let turnBegan = 0;

  const waitForConnection = () =>
    new Promise<void>((resolve, reject) => {
      const go = () => {
        clearTimeout(timer);
        if (performance.now() - turnBegan < turnMs) return resolve();
        setImmediate(() => {
          turnBegan = performance.now();
          resolve();
        });
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(go), 1);
        const hint = 'inside a transaction, query through its own handle';
        reject(new StoreError('locked', `the SQLite connection was not free within ${waitMs} ms (${hint})`));
      }, waitMs);
      waiting.push(go);
    });

  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      if (isTaken) await waitForConnection();
      else turnBegan = performance.now();
      isTaken = true;
      return connection;
    },
    async releaseConnection() {
      const next = waiting.shift();
      if (next) next();
      else isTaken = false;
    },
    // With the write lock taken first, a transaction cannot fail half-way because another process writes.
    async beginTransaction() {
      // A file that was removed or replaced under the open connection would take writes that nobody finds again.
      if (!isInPlace()) throw new StoreError('unwritable', 'the SQLite database was removed or replaced');
      await run('begin immediate');
    },
    commitTransaction: () => run('commit'),
    async rollbackTransaction() {
      // SQLite has already rolled back after some faults (disk full, I/O error); a second rollback would hide the first error.
      if (database.isTransaction) await run('rollback');
    },
    async destroy() {
      await driver.acquireConnection();
      database.close();
      await driver.releaseConnection(connection);
    },
  };
  return { ...driver, waiting: () => waiting.length };
}

type Query = Pick<CompiledQuery, 'sql' | 'parameters'>;

function createConnection(database: DatabaseSync, waitMs: number) {
  const statements = new LRUCache<string, { statement: StatementSync; returnsRows: boolean }>({
    max: statementCacheSize,
  });

  function prepare(sql: string) {
    const cached = statements.get(sql);
    if (cached) return cached;
    const statement = database.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    statements.set(sql, prepared);
    return prepared;
  }

  function execute<R>({ sql, parameters }: Query): QueryResult<R> {
    const { statement, returnsRows } = prepare(sql);
    const [first] = parameters;
    if (first instanceof EachRow)
      return { rows: first.rows.map((row) => Number(statement.run(...row.map(bindValue)).changes) as R) };
    const values = parameters.map(bindValue);
    if (returnsRows) return { rows: statement.all(...values) as R[] };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  return {
    executeQuery<R>(query: Query): Promise<QueryResult<R>> {
      try {
        return Promise.resolve(execute<R>(query));
      } catch (error) {
        if (faultKind(error) !== 'locked') return Promise.reject(error);
        return retryWhileLocked(() => execute<R>(query), waitMs);
      }
    },
    streamQuery: refuseStream,
  };
}

export function refuseStream(): never {
  throw new Error('streaming is not supported by the store: read in pages');
}

async function retryWhileLocked<T>(attempt: () => T, waitMs: number): Promise<T> {
  const deadline = Date.now() + waitMs;
  while (true) {
    try {
      return attempt();
    } catch (error) {
      if (faultKind(error) !== 'locked') throw error;
      if (Date.now() >= deadline)
        throw new StoreError('locked', `another process kept the SQLite database locked for ${waitMs} ms`, error);
    }
    await sleep(1 + Math.random() * 10);
  }
}
