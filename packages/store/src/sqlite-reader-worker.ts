import { statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';

export interface ReaderCall {
  id: number;
  sql: string;
  parameters: (string | number | bigint | Uint8Array | null)[];
}

export type ReaderReply =
  | { id: number; begun: true }
  | { id: number; rows: unknown[] }
  | { id: number; message: string; details: { code?: unknown; errcode?: unknown } };

const { path, inode, waitMs } = workerData as { path: string; inode: number; waitMs: number };
const statements = new LRUCache<string, StatementSync>({ max: 100, memoMethod: prepare });
/** SQLite's own code. */
const cannotOpen = 14;
let database: DatabaseSync | undefined;

/** A file that replaced the one that is written to has other rows. */
function open(): DatabaseSync {
  if (statSync(path).ino !== inode)
    throw Object.assign(new Error('the SQLite database was removed or replaced'), { errcode: cannotOpen });
  return new DatabaseSync(path, { readOnly: true, timeout: waitMs });
}

function prepare(sql: string): StatementSync {
  database ??= open();
  return database.prepare(sql);
}

function run({ id, sql, parameters }: ReaderCall): ReaderReply {
  try {
    return { id, rows: statements.memo(sql).all(...parameters) };
  } catch (error) {
    const { message, code, errcode } = error as Error & { code?: unknown; errcode?: unknown };
    return { id, message, details: { code, errcode } };
  }
}

parentPort?.on('message', (call: ReaderCall) => {
  parentPort?.postMessage({ id: call.id, begun: true } satisfies ReaderReply);
  parentPort?.postMessage(run(call));
});
