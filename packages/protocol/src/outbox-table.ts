import { randomUUID } from 'node:crypto';
import type { Store } from '@palaver/store';
import { createLeases, databaseTime } from '@palaver/store/internal';
import { type Kysely, sql, type Transaction } from 'kysely';

type Tables = Record<string, OutboxRow>;

/** Runs in the transaction that books an entry as included or dead. */
export type OnSettled<T> = (trx: Transaction<T>, row: OutboxRow, outcome: 'included' | 'dead') => Promise<void>;

export interface Release {
  fault: string;
  /** Whether it is a failed attempt of the entry itself. */
  counts: boolean;
  /** Whether the transaction is in a block, so that its sequence is used up. */
  isUsed?: boolean;
  /** Whether the bytes were sent once, and the only node that saw them refused them. */
  isRefused?: boolean;
  isFinal?: boolean;
}

interface Signed {
  bytes: string;
  hash: string;
  sequence: number;
  timeout_height: number;
}

const leaseMs = 15_000;
const maxAttempts = 5;
const retryMs = 10_000;
const onTheWay: OutboxRow['status'][] = ['signed', 'unclear'];

/** Each statement changes only rows that are as the caller has read them. */
export function createOutboxTable<T>(
  store: Store<T>,
  { service, address, onSettled }: { service: string; address: string; onSettled: OnSettled<T> | undefined },
) {
  const table = `${service}_tx`;
  const leases = createLeases(store, `${service}_tx_lease`);
  const now = databaseTime(store.engine);
  const holder = randomUUID();
  const db = store.db as unknown as Kysely<Tables>;
  const inTransaction = (work: (trx: Transaction<Tables>, own: Transaction<T>) => Promise<void>) =>
    store.transaction((trx) => work(trx as unknown as Transaction<Tables>, trx as Transaction<T>));

  const ofStatus = (status: OutboxRow['status']) => db.selectFrom(table).selectAll().where('status', '=', status);
  const ofSent = (on: Kysely<Tables>, hash: string | null) =>
    on.updateTable(table).where('hash', '=', hash).where('status', 'in', onTheWay);

  return {
    lease: () => leases.hold(address, holder, leaseMs),

    /** Everything the next step needs is stored, so any instance may take it. */
    endLease: () => leases.end(address, holder),

    async add(trx: Transaction<T>, row: Pick<OutboxRow, 'id' | 'message' | 'memo' | 'alone' | 'created_at'>) {
      await (trx as unknown as Transaction<Tables>)
        .insertInto(table)
        .values({ ...row, status: 'waiting', attempts: 0, next_at: 0 } as OutboxRow)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    list: (status: OutboxRow['status'], limit: number): Promise<OutboxRow[]> =>
      ofStatus(status).orderBy('created_at').limit(limit).execute(),

    ofHash: (hash: string, status: OutboxRow['status']): Promise<OutboxRow[]> =>
      ofStatus(status).where('hash', '=', hash).execute(),

    async ofIds(ids: string[]): Promise<OutboxRow[]> {
      return ids.length === 0 ? [] : db.selectFrom(table).selectAll().where('id', 'in', ids).orderBy('id').execute();
    },

    /** The entries of a transaction to follow now: the one that was sent, or one that is unclear. */
    async findSent(): Promise<OutboxRow[]> {
      const rows = await db
        .selectFrom(table)
        .selectAll()
        .where('status', 'in', onTheWay)
        .where((eb) => eb.or([eb('status', '=', 'signed'), eb('next_at', '<=', now)]))
        .orderBy('status')
        .execute();
      return rows.filter(({ hash }) => hash === rows[0]?.hash);
    },

    findDue: (limit: number): Promise<OutboxRow[]> =>
      ofStatus('waiting').where('next_at', '<=', now).orderBy('created_at').orderBy('id').limit(limit).execute(),

    async lastSequence(): Promise<number> {
      const last = await db
        .selectFrom(table)
        .select('sequence')
        .where('sequence', 'is not', null)
        .where('signer', '=', address)
        .orderBy('sequence', 'desc')
        .limit(1)
        .executeTakeFirst();
      return last?.sequence ?? -1;
    },

    /** To be called before the bytes are sent. */
    async keepSigned(ids: string[], signed: Signed): Promise<void> {
      await inTransaction(async (trx) => {
        const done = await trx
          .updateTable(table)
          .set({ ...signed, signer: address, resent: 0, refusal: null, status: 'signed' })
          .where('id', 'in', ids)
          .where('status', '=', 'waiting')
          .executeTakeFirst();
        if (Number(done.numUpdatedRows) !== ids.length) throw new Error('another instance signs these entries');
      });
    },

    /** Changes all entries of a transaction that is on its way, and leaves them for `waitMs`; false if it no longer is. */
    async mark(hash: string | null, change: Partial<OutboxRow>, waitMs = 0): Promise<boolean> {
      const done = await ofSent(db, hash)
        .set((eb) => ({ ...change, next_at: eb(now, '+', waitMs) }))
        .executeTakeFirst();
      return done.numUpdatedRows > 0n;
    },

    async include(rows: OutboxRow[], height: number | null): Promise<void> {
      for (const row of rows) {
        await inTransaction(async (trx, own) => {
          const change = { status: 'included' as const, height, fault: null };
          const done = await ofSent(trx, row.hash).set(change).where('id', '=', row.id).executeTakeFirst();
          if (done.numUpdatedRows > 0n) await onSettled?.(own, { ...row, ...change }, 'included');
        });
      }
    },

    // For a transaction that can have no effect any more. All entries at once: its bytes hold the messages of all.
    async release(rows: OutboxRow[], { fault, counts, isUsed, isRefused, isFinal }: Release): Promise<void> {
      const isShared = rows.length > 1;
      await inTransaction(async (trx, own) => {
        const freed = await ofSent(trx, rows[0]?.hash ?? '')
          .set({ bytes: null, hash: null, refusal: null, resent: 0 })
          .where('resent', 'in', isRefused ? [0] : [0, 1])
          .executeTakeFirst();
        if (Number(freed.numUpdatedRows) !== rows.length) throw new Error('another instance follows these entries');
        for (const row of rows) {
          const attempts = row.attempts + (counts && !isShared ? 1 : 0);
          const status = isFinal || attempts >= maxAttempts ? ('dead' as const) : ('waiting' as const);
          const waitMs = isShared ? 0 : retryMs * 2 ** attempts;
          const sequence = isUsed ? row.sequence : null;
          const alone = isShared ? 1 : row.alone;
          // What the chain refused says more than the loss of a later attempt.
          const kept = counts ? fault : (row.fault ?? fault);
          const change = { status, attempts, alone, fault: kept, sequence };
          await trx
            .updateTable(table)
            .set((eb) => ({ ...change, next_at: eb(now, '+', waitMs) }))
            .where('id', '=', row.id)
            .execute();
          if (status === 'dead') await onSettled?.(own, { ...row, ...change, bytes: null, hash: null }, 'dead');
        }
      });
    },

    async revive(trx: Transaction<T>, id: string, message?: string): Promise<boolean> {
      const done = await (trx as unknown as Transaction<Tables>)
        .updateTable(table)
        .set({ status: 'waiting', attempts: 0, next_at: 0, alone: 1, ...(message !== undefined && { message }) })
        .where('id', '=', id)
        .where('status', '=', 'dead')
        .executeTakeFirst();
      return done.numUpdatedRows > 0n;
    },
  };
}

export const outboxStatuses = ['waiting', 'signed', 'unclear', 'included', 'dead'] as const;

/** One entry: what has to be on the chain once. Entries that are signed together share bytes and hash. */
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
  /** Of the transaction that is on its way, stored before it is sent. */
  bytes: string | null;
  hash: string | null;
  sequence: number | null;
  timeout_height: number | null;
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
