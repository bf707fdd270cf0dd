import type { Migration } from '@palaver/store';
import { sql } from 'kysely';

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
  /** The address of the account that signed it; null where an earlier version did. */
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
 * The tables of an outbox: `<service>_tx` and `<service>_tx_lease`. `outboxResendMigration` and `outboxSignerMigration` have to
 * follow it.
 *
 * @example
 * ```ts
 * import { outboxMigration, outboxResendMigration, outboxSignerMigration } from '@palaver/protocol';
 *
 * export const migrations = [
 *   outboxMigration('herd', '001-outbox'),
 *   outboxResendMigration('herd', '002-outbox-resend'),
 *   outboxSignerMigration('herd', '003-outbox-signer'),
 * ];
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

/**
 * The columns of `<service>_tx` that distinguish a first sending from a repeated one.
 *
 * @example
 * ```ts
 * import { outboxResendMigration } from '@palaver/protocol';
 *
 * export const later = [outboxResendMigration('herd', '007-outbox-resend')];
 * ```
 */
export function outboxResendMigration(service: string, name: string): Migration {
  return {
    name,
    async up(db) {
      const table = sql.table(`${service}_tx`);
      // Instances of an older version write rows without them.
      await sql`alter table ${table} add column resent integer not null default 0`.execute(db);
      await sql`alter table ${table} add column refusal text`.execute(db);
    },
  };
}

/**
 * The column of `<service>_tx` that says whose sequence a transaction used: the signing key may change.
 *
 * @example
 * ```ts
 * import { outboxSignerMigration } from '@palaver/protocol';
 *
 * export const later = [outboxSignerMigration('herd', '008-outbox-signer')];
 * ```
 */
export function outboxSignerMigration(service: string, name: string): Migration {
  return {
    name,
    async up(db) {
      await sql`alter table ${sql.table(`${service}_tx`)} add column signer text`.execute(db);
    },
  };
}
