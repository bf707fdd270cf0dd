import { type Kysely, sql } from 'kysely';

export const outboxStatuses = ['waiting', 'signed', 'unclear', 'included', 'dead'] as const;

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
  /** `unclear`: its sequence is used up, and the nodes that were asked do not know by which transaction. */
  status: (typeof outboxStatuses)[number];
  /** 1 where it is signed without others, because it failed together with them. */
  alone: number;
  attempts: number;
  next_at: number;
  /** Of the transaction that is on its way, kept before it is sent. */
  bytes: string | null;
  hash: string | null;
  sequence: number | null;
  timeout_height: number | null;
  /** The address of the account that signed it. */
  signer: string | null;
  /** 1 from the moment before the bytes are sent a second time. */
  resent: number;
  /** What a node said when it refused bytes that another node may have. */
  refusal: string | null;
  height: number | null;
  fault: string | null;
  created_at: number;
}

/**
 * The tables of an outbox, for a migration: `<service>_tx` and `<service>_tx_lease`.
 *
 * @example
 * ```ts
 * import { createOutboxTables } from '@palaver/protocol';
 * import type { Migration } from '@palaver/store';
 *
 * export const migrations: Migration[] = [{ name: '0001', up: (db) => createOutboxTables(db, 'herd') }];
 * ```
 */
export async function createOutboxTables(db: Kysely<unknown>, service: string): Promise<void> {
  const table = sql.table(`${service}_tx`);
  await sql`create table ${table} (
    id text primary key, message text not null, memo text not null, status text not null, alone integer not null,
    attempts integer not null, next_at bigint not null, bytes text, hash text, sequence bigint, timeout_height bigint,
    signer text, resent integer not null default 0, refusal text, height bigint, fault text,
    created_at bigint not null)`.execute(db);
  await sql`create index ${sql.ref(`${service}_tx_status`)} on ${table} (status, created_at)`.execute(db);
  await sql`create table ${sql.table(`${service}_tx_lease`)} (
    id text primary key, claimed_by text, lease_until bigint not null)`.execute(db);
}
