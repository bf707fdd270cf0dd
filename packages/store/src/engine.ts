import type { Transaction } from 'kysely';

/** Which database a store is on. */
export type Engine = 'sqlite' | 'postgres';

export interface TransactionOptions {
  /** PostgreSQL only. Default `serializable`, as SQLite always is; `read committed` is enough for single statements. */
  isolation?: 'serializable' | 'read committed';
}

export type RunTransaction<DB> = <T>(
  fn: (trx: Transaction<DB>) => Promise<T>,
  options?: TransactionOptions,
) => Promise<T>;
