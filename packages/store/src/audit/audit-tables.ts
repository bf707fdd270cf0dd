import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

// A type, not an interface: only those fit the parameters of a prepared query.
type AuditColumns = {
  at: number;
  service: string;
  actor: string;
  action: string;
  subject: string | null;
  from_address: string | null;
  /** JSON, kept as it was hashed. */
  details: string;
};

export interface AuditTables {
  /** Written together with the event; moved into the chain within a second. */
  palaver_audit_pending: AuditColumns & { id: string };
  palaver_audit: AuditColumns & { seq: number; previous: string; hash: string };
  /** One row: where the chain ends, and where it begins after old lines were pruned. */
  palaver_audit_state: { id: number; head_seq: number; head_hash: string; floor_seq: number; floor_hash: string };
}

/** What the first line follows. */
export const genesisHash = '0'.repeat(64);

const columns = sql`at bigint not null, service text not null, actor text not null, action text not null, subject text,
  from_address text, details text not null`;

/** The tables of the audit log, as the component `audit`. */
export const auditMigrations: readonly Migration[] = [
  {
    name: '0001',
    async up(trx, engine) {
      const statements = [
        sql`create table palaver_audit_pending (id text primary key, ${columns})`,
        sql`create table palaver_audit (
          seq bigint primary key, ${columns}, previous text not null, hash text not null)`,
        sql`create index palaver_audit_at on palaver_audit (at)`,
        sql`create index palaver_audit_action on palaver_audit (action, seq)`,
        sql`create index palaver_audit_actor on palaver_audit (actor, seq)`,
        sql`create index palaver_audit_subject on palaver_audit (subject, seq)`,
        sql`create table palaver_audit_state (
          id integer primary key, head_seq bigint not null, head_hash text not null,
          floor_seq bigint not null, floor_hash text not null)`,
        sql`insert into palaver_audit_state values (1, 0, ${sql.lit(genesisHash)}, 0, ${sql.lit(genesisHash)})`,
        ...(engine === 'postgres' ? postgresGuards : sqliteGuards),
      ];
      for (const statement of statements) await statement.execute(trx);
    },
  },
];

// The triggers stop mistakes and injected statements. The owner of the tables can drop them; the chain then shows changes.
const refusal = 'the audit log is append-only';
const sqliteGuards = [
  sql`create trigger palaver_audit_update before update on palaver_audit
    begin select raise(abort, ${sql.lit(refusal)}); end`,
  sql`create trigger palaver_audit_delete before delete on palaver_audit
    when old.seq > (select floor_seq from palaver_audit_state)
    begin select raise(abort, ${sql.lit(refusal)}); end`,
];
const postgresGuards = [
  sql`create function palaver_audit_guard() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' then
        if old.seq <= (select floor_seq from palaver_audit_state) then return old; end if;
      end if;
      raise exception ${sql.lit(refusal)};
    end $$`,
  sql`create trigger palaver_audit_change before update or delete on palaver_audit
    for each row execute function palaver_audit_guard()`,
  sql`create trigger palaver_audit_truncate before truncate on palaver_audit
    for each statement execute function palaver_audit_guard()`,
];
