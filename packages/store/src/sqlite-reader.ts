import { Worker } from 'node:worker_threads';
import type { CompiledQuery, DatabaseConnection, Dialect, QueryResult } from 'kysely';
import { refuseStream, toDialect } from './open-sqlite.ts';
import { bindValue } from './prepare-query.ts';
import type { ReaderCall, ReaderReply } from './sqlite-reader-worker.ts';
import { StoreError } from './store-error.ts';

export interface ReaderOptions {
  path: string;
  inode: number;
  waitMs: number;
  statementMs: number;
}

type Waiting = PromiseWithResolvers<unknown[]> & { call: ReaderCall };

const workerFile = new URL(import.meta.url.replace(/sqlite-reader(\.[jt]s)(\?.*)?$/, 'sqlite-reader-worker$1'));
const maxWaiting = 100;
/** Starting the thread takes long on a busy machine. */
const startMs = 60_000;

// In a thread of its own, so that reports delay no request. A query sees everything committed when it begins.
export function createSqliteReader({ path, inode, waitMs, statementMs }: ReaderOptions): Dialect {
  let worker: Worker | undefined;
  let current: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;
  let count = 0;
  const queue: Waiting[] = [];

  const next = () => {
    clearTimeout(timer);
    current = queue.shift();
    if (!current) return;
    worker ??= start();
    limit(startMs);
    worker.postMessage(current.call);
  };
  const limit = (ms: number) => {
    clearTimeout(timer);
    const message = `a report took longer than ${ms} ms to read from the SQLite database`;
    timer = setTimeout(() => end(new StoreError('overloaded', message)), ms).unref();
  };
  /** The running query fails; the next one has a new thread. */
  const end = (error: Error) => {
    worker?.removeAllListeners().on('error', () => {});
    worker?.terminate();
    worker = undefined;
    current?.reject(error);
    next();
  };
  const start = () => {
    const started = new Worker(workerFile, { workerData: { path, inode, waitMs } });
    started.unref();
    started.on('error', end);
    started.on('exit', () => end(new StoreError('closed', 'the thread that reads the SQLite database has ended')));
    started.on('message', (reply: ReaderReply) => {
      if (reply.id !== current?.call.id) return;
      if ('begun' in reply) return limit(statementMs);
      if ('rows' in reply) current.resolve(reply.rows);
      else current.reject(Object.assign(new Error(reply.message), reply.details));
      next();
    });
    return started;
  };
  const connection: DatabaseConnection = {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      if (queue.length >= maxWaiting)
        throw new StoreError('overloaded', 'too many reports wait for the SQLite database');
      const call = { id: ++count, sql, parameters: parameters.map(bindValue) };
      const waiting: Waiting = { call, ...Promise.withResolvers<unknown[]>() };
      queue.push(waiting);
      if (!current) next();
      return { rows: (await waiting.promise) as R[] };
    },
    streamQuery: refuseStream,
  };
  const refuse = () => Promise.reject(new Error('reports are read without a transaction'));
  return toDialect({
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    async destroy() {
      for (const { reject } of queue.splice(0)) reject(new StoreError('closed', 'the database is closed'));
      end(new StoreError('closed', 'the database is closed'));
    },
  });
}
