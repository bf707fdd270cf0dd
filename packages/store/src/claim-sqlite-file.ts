import { DatabaseSync } from 'node:sqlite';
import { createPrivateFile, toPath } from './open-sqlite.ts';
import { faultKind, StoreError } from './store-error.ts';

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
