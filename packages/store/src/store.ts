import type { CompiledQuery, Dialect, Kysely } from 'kysely';
import type { DataCipher } from './cipher/data-cipher.ts';
import type { Engine, RunTransaction } from './engine.ts';
import type { GroupWriter, GroupWriterOptions } from './group-writer.ts';
import type { Migration } from './migrate.ts';
import type { PrepareQuery } from './prepare-query.ts';

/** How a database is opened. */
export interface StoreOptions {
  /** How long a query waits for a free connection or another process's lock. Default 10 s. */
  waitMs?: number;
  /** PostgreSQL: connections at most, besides those of `readDb`. Default 10. */
  poolSize?: number;
  /** How long one statement may run: on PostgreSQL any, on SQLite one of a report. Default 10 s. */
  statementTimeoutMs?: number;
  /** PostgreSQL: whether a pooler in transaction mode, such as PgBouncer, is in front of it; `auto` finds out. */
  pooler?: 'auto' | 'transaction' | 'none';
  /** PostgreSQL: a replica for `readDb`. While it is unreachable the database itself is read. */
  readUrl?: string | undefined;
  /** Whether `migrate` changes the database or only checks that nothing is left to do. Default `apply`. */
  migrations?: 'apply' | 'check';
  /** Keys of 32 bytes: the first encrypts, all decrypt; see `openCipher`. */
  dataKeys?: readonly Uint8Array[];
}

/** A database: typed queries by Kysely, transactions, migrations. */
export interface Store<DB> {
  readonly engine: Engine;
  readonly db: Kysely<DB>;
  /** For reports. A PostgreSQL replica may be seconds behind; on SQLite it has its own thread and no transactions. */
  readonly readDb: Kysely<DB>;
  readonly cipher: DataCipher;
  /** One write transaction. PostgreSQL may run `fn` again after a conflict: it must act through `trx` alone. */
  transaction: RunTransaction<DB>;
  /** A query compiled once, for hot paths. Call it at start, not per request. */
  prepare: PrepareQuery<DB>;
  /** Brings one component's tables up to date; see {@link Migration}. */
  migrate(component: string, migrations: readonly Migration[]): Promise<void>;
  createGroupWriter<Item, Result>(options: GroupWriterOptions<DB, Item, Result>): GroupWriter<Item, Result>;
  /** Queries that wait for a connection now, and statements so far that took a second or longer. */
  stats(): { waiting: number; slow: number };
  /** Whether the database answers; never throws, resolves within 2 s. */
  ping(): Promise<boolean>;
  /** Whether another process keeps a SQLite database locked, so that nothing can be written. */
  isLocked(): Promise<boolean>;
  /** Finishes pending group writes, then closes. May be called again. */
  close(): Promise<void>;
}

export interface EngineConnection {
  dialect: Dialect;
  ping(): Promise<boolean>;
  isRetryable(error: unknown): boolean;
  onPrepare?(query: CompiledQuery): void;
  waiting(): number;
  /** Takes the write lock and releases it; PostgreSQL has none for a whole database. */
  takeLock?(): Promise<void>;
}
