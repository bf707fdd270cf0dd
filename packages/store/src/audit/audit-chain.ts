import { createHash } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migrate.ts';
import { changePieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';

export type ChainedRow = AuditTables['palaver_audit'];

/** The end of the chain. A copy outside the database shows whether lines were removed from the end. */
export interface AuditHead {
  seq: number;
  hash: string;
}

const chained = 500;

export function hashLine(row: Omit<ChainedRow, 'hash'>): string {
  const { previous, seq, at, service, actor, action, subject, from_address, details } = row;
  const said = [previous, seq, at, service, actor, action, subject, from_address, details];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}

/** Locks the chain for this transaction: one instance at a time may lengthen or shorten it. */
async function lockState(trx: Transaction<AuditTables>, engine: Store<unknown>['engine']) {
  const query = trx.selectFrom('palaver_audit_state').selectAll();
  return (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirstOrThrow();
}

export async function chainPending(
  store: Pick<Store<AuditTables>, 'transaction' | 'engine' | 'db'>,
): Promise<AuditHead | undefined> {
  let head: AuditHead | undefined;
  const chainSome = (limit: number) =>
    store.transaction(
      async (trx) => {
        const state = await lockState(trx, store.engine);
        const pending = await trx
          .selectFrom('palaver_audit_pending')
          .selectAll()
          .orderBy('at')
          .orderBy('id')
          .limit(limit)
          .execute();
        if (pending.length === 0) return 0;
        let [seq, previous] = [state.head_seq, state.head_hash];
        const rows = pending.map(({ id: _, ...said }) => {
          seq++;
          const row = { ...said, seq, previous };
          previous = hashLine(row);
          return { ...row, hash: previous };
        });
        await trx.insertInto('palaver_audit').values(rows).execute();
        const ids = pending.map(({ id }) => id);
        await trx.deleteFrom('palaver_audit_pending').where('id', 'in', ids).execute();
        await trx.updateTable('palaver_audit_state').set({ head_seq: seq, head_hash: previous }).execute();
        head = { seq, hash: previous };
        return pending.length;
      },
      // Each statement must see what the instance before has committed, once its lock is free.
      { isolation: 'read committed' },
    );
  // Checked without the lock, for which every read of lines would otherwise wait.
  const found = await store.db.selectFrom('palaver_audit_pending').select(sql`1`.as('one')).limit(1).execute();
  if (found.length > 0) await changePieces(chainSome, { size: chained });
  return head;
}

const size = 1_000;

/** Removes lines older than `before`. `toRow` makes the line that records the new beginning, so that any other one is found. */
export async function pruneAudit(
  store: Pick<Store<AuditTables>, 'transaction' | 'engine'>,
  before: number,
  toRow: (details: { seq: number; hash: string }) => AuditTables['palaver_audit_pending'],
): Promise<number> {
  let removed = 0;
  const removeSome = async (limit: number) => {
    const count = await store.transaction(
      async (trx) => {
        const { floor_seq } = await lockState(trx, store.engine);
        const rows = await trx
          .selectFrom('palaver_audit')
          .select(['seq', 'hash', 'at'])
          .where('seq', '>', floor_seq)
          .orderBy('seq')
          .limit(limit)
          .execute();
        const kept = rows.findIndex(({ at }) => at >= before);
        const old = kept === -1 ? rows : rows.slice(0, kept);
        const last = old.at(-1);
        if (!last) return 0;
        await trx.updateTable('palaver_audit_state').set({ floor_seq: last.seq, floor_hash: last.hash }).execute();
        await trx.deleteFrom('palaver_audit').where('seq', '<=', last.seq).execute();
        await trx
          .insertInto('palaver_audit_pending')
          .values(toRow({ seq: last.seq, hash: last.hash }))
          .execute();
        return old.length;
      },
      { isolation: 'read committed' },
    );
    removed += count;
    return count;
  };
  await changePieces(removeSome, { size });
  return removed;
}

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

const genesisHash = '0'.repeat(64);

const columns = sql`at bigint not null, service text not null, actor text not null, action text not null, subject text,
  from_address text, details text not null`;

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
