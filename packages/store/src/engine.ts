import type { Transaction } from 'kysely';

/** Which database a store is on. */
export type Engine = 'sqlite' | 'postgres';

export interface TransactionOptions {
  /**
   * PostgreSQL only; SQLite's transactions are always serializable. That is also the default here, so that code which is right on
   * one engine is right on the other. Choose `read committed` where single statements carry the whole effect.
   */
  isolation?: 'serializable' | 'read committed';
}

export type RunTransaction<DB> = <T>(
  fn: (trx: Transaction<DB>) => Promise<T>,
  options?: TransactionOptions,
) => Promise<T>;
