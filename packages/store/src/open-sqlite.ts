import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { createSqliteDialect, retryWhileLocked } from './sqlite-dialect.ts';
import type { EngineConnection, StoreOptions } from './store.ts';
import { faultKind, messageOf, StoreError } from './store-error.ts';

/** Longer than the writes of other programs, such as a backup, and shorter than health checks wait. */
const lockWaitMs = 1_000;

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
    // What is erased is overwritten, not only unlinked.
    database.exec('pragma secure_delete = on');
    await retryWhileLocked(() => opened.exec('begin immediate; rollback'), waitMs);
    const inodeNow = () => (path === ':memory:' ? 0 : statSync(path, { throwIfNoEntry: false })?.ino);
    const inode = inodeNow();
    const isInPlace = () => inodeNow() === inode;
    const { dialect, waiting } = createSqliteDialect(database, { waitMs, isInPlace });
    return {
      dialect,
      waiting,
      ping: async () => opened.prepare('select count(*) from sqlite_schema').all().length === 1 && isInPlace(),
      isRetryable: () => false,
      // In a transaction of its own, this connection has the lock.
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

/**
 * Keeps a SQLite database for this process, until the result is called or the process ends in whatever way: the operating
 * system holds the lock, on a file of its own, so that other programs may still read the database or back it up.
 */
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
