import type { Migration } from '@palaver/store';
import { sql } from 'kysely';

/**
 * One entry: what has to be on the chain once. Entries that are signed together share bytes and hash.
 *
 * @example
 * ```ts
 * import type { OutboxRow } from '@palaver/protocol';
 *
 * export const isDead = ({ status }: OutboxRow) => status === 'dead';
 * ```
 */
export interface OutboxRow {
  id: string;
  /** JSON of `{ typeUrl, value }`, `value` in base64. */
  message: string;
  memo: string;
  status: 'waiting' | 'signed' | 'included' | 'dead';
  /** 1 where it is signed without others, because it failed together with them. */
  alone: number;
  attempts: number;
  next_at: number;
  /** Of the transaction that is on its way, kept before it is sent. */
  bytes: string | null;
  hash: string | null;
  sequence: number | null;
  timeout_height: number | null;
  height: number | null;
  fault: string | null;
  created_at: number;
}

/**
 * The tables of an outbox: `<service>_tx` and `<service>_tx_lease`.
 *
 * @example
 * ```ts
 * import { outboxMigration } from '@palaver/protocol';
 *
 * export const migrations = [outboxMigration('herd', '001-outbox')];
 * ```
 */
export function outboxMigration(service: string, name: string): Migration {
  return {
    name,
    async up(db) {
      const table = sql.table(`${service}_tx`);
      await sql`create table ${table} (
        id text primary key, message text not null, memo text not null, status text not null, alone integer not null,
        attempts integer not null, next_at bigint not null, bytes text, hash text, sequence bigint, timeout_height bigint,
        height bigint, fault text, created_at bigint not null)`.execute(db);
      await sql`create index ${sql.ref(`${service}_tx_status`)} on ${table} (status, created_at)`.execute(db);
      await sql`create table ${sql.table(`${service}_tx_lease`)} (
        address text primary key, holder text not null, until bigint not null)`.execute(db);
    },
  };
}
