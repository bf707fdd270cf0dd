import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type CompiledQuery,
  type DatabaseConnection,
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

// Claims a SQLite database for this process, until the result is called or the process ends. The operating system holds the
// lock, on a separate file, so that other programs may still read the database or back it up.
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
  /** Whether the path still names the file that was opened. */
  isInPlace(): boolean;
}

export function createSqliteDialect(
  database: DatabaseSync,
  options: SqliteOptions,
): { dialect: Dialect; waiting(): number } {
  const driver = new SqliteDriver(database, options);
  return {
    waiting: () => driver.waiting,
    dialect: {
      createDriver: () => driver,
      createQueryCompiler: () => new LimitCastingCompiler(),
      createAdapter: () => new QueueingAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
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

class SqliteDriver implements Driver {
  readonly #connection: SqliteConnection;
  readonly #database: DatabaseSync;
  readonly #waitMs: number;
  readonly #turnMs: number;
  readonly #isInPlace: () => boolean;
  readonly #waiting: (() => void)[] = [];
  #taken = false;
  #turnBegan = 0;

  constructor(database: DatabaseSync, { waitMs, turnMs = Number.POSITIVE_INFINITY, isInPlace }: SqliteOptions) {
    this.#database = database;
    this.#waitMs = waitMs;
    this.#turnMs = turnMs;
    this.#isInPlace = isInPlace;
    this.#connection = new SqliteConnection(database, waitMs);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#taken) await this.#waitForConnection();
    else this.#turnBegan = performance.now();
    this.#taken = true;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }

  #waitForConnection(): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        clearTimeout(timer);
        if (performance.now() - this.#turnBegan < this.#turnMs) return resolve();
        setImmediate(() => {
          this.#turnBegan = performance.now();
          resolve();
        });
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        const hint = 'inside a transaction, query through its own handle';
        reject(new StoreError('locked', `the SQLite connection was not free within ${this.#waitMs} ms (${hint})`));
      }, this.#waitMs);
      this.#waiting.push(go);
    });
  }

  // With the write lock taken first, a transaction cannot fail half-way because another process writes.
  async beginTransaction(): Promise<void> {
    // A file that was removed or replaced under the open connection would take writes that nobody finds again.
    if (!this.#isInPlace()) throw new StoreError('unwritable', 'the SQLite database was removed or replaced');
    await this.#run('begin immediate');
  }

  commitTransaction(): Promise<void> {
    return this.#run('commit');
  }

  async rollbackTransaction(): Promise<void> {
    // SQLite has already rolled back after some faults (disk full, I/O error); a second rollback would hide the first error.
    if (this.#database.isTransaction) await this.#run('rollback');
  }

  async destroy(): Promise<void> {
    await this.acquireConnection();
    this.#database.close();
    await this.releaseConnection();
  }

  async #run(sql: string): Promise<void> {
    await this.#connection.executeQuery({ sql, parameters: [] });
  }
}

interface CachedStatement {
  statement: StatementSync;
  returnsRows: boolean;
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #waitMs: number;
  readonly #statements = new LRUCache<string, CachedStatement>({ max: statementCacheSize });

  constructor(database: DatabaseSync, waitMs: number) {
    this.#database = database;
    this.#waitMs = waitMs;
  }

  executeQuery<R>(query: Pick<CompiledQuery, 'sql' | 'parameters'>): Promise<QueryResult<R>> {
    try {
      return Promise.resolve(this.#execute<R>(query));
    } catch (error) {
      if (faultKind(error) !== 'locked') return Promise.reject(error);
      return retryWhileLocked(() => this.#execute<R>(query), this.#waitMs);
    }
  }

  // biome-ignore lint/correctness/useYield: an interface member that is refused, on PostgreSQL too.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('streaming is not supported by the store: read in pages');
  }

  #execute<R>({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): QueryResult<R> {
    const { statement, returnsRows } = this.#prepare(sql);
    const [first] = parameters;
    if (first instanceof EachRow)
      return { rows: first.rows.map((row) => Number(statement.run(...row.map(bindValue)).changes) as R) };
    const values = parameters.map(bindValue);
    if (returnsRows) return { rows: statement.all(...values) as R[] };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  #prepare(sql: string): CachedStatement {
    let cached = this.#statements.get(sql);
    if (cached) return cached;
    const statement = this.#database.prepare(sql);
    cached = { statement, returnsRows: statement.columns().length > 0 };
    this.#statements.set(sql, cached);
    return cached;
  }
}

/** Waits for another process's lock without blocking the event loop, which SQLite's own busy timeout does. */
async function retryWhileLocked<T>(attempt: () => T, waitMs: number): Promise<T> {
  const deadline = Date.now() + waitMs;
  while (true) {
    try {
      return attempt();
    } catch (error) {
      if (faultKind(error) !== 'locked') throw error;
      if (Date.now() >= deadline) {
        throw new StoreError('locked', `another process kept the SQLite database locked for ${waitMs} ms`, error);
      }
    }
    await sleep(1 + Math.random() * 10);
  }
}
