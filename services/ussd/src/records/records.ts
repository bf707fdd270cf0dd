import { setImmediate } from 'node:timers/promises';
import type { Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import type { Transaction } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { RecordTable, UssdTables } from '../store/tables.ts';

export interface RecordKind {
  program: string;
  kind: string;
}

export interface NewRecord extends RecordKind {
  /** The key of the action that stores it: the same for a retry. */
  id: string;
  phone: string;
  fields: Record<string, unknown>;
  now: number;
}

/** A record as programs and operators see it. */
export interface StoredRecord {
  id: string;
  phoneNumber: string;
  createdAt: string;
  fields: Record<string, unknown>;
}

export interface RecordChange {
  id: string;
  matches(record: StoredRecord): boolean;
  fields: Record<string, unknown>;
}

/** What programs keep of their callers' answers. */
export interface RecordStore {
  insert(trx: Transaction<UssdTables>, record: NewRecord): Promise<void>;
  /** Changes a record if it still matches, as it is in the transaction; false if it does not, or is gone. */
  update(trx: Transaction<UssdTables>, change: RecordChange): Promise<boolean>;
  /** The newest first; of one phone, or of everyone. */
  find(kind: RecordKind & { phone?: string | undefined; limit: number; offset?: number }): Promise<StoredRecord[]>;
  /** Every record, the newest first, in batches between which other requests are served. */
  scan(kind: RecordKind & { phone?: string | undefined }): AsyncGenerator<StoredRecord[]>;
  kinds(): Promise<(RecordKind & { count: number })[]>;
}

const batchSize = 500;
const unreadable = { fields: JSON.stringify({ unreadable: true }), phone: unreadableText };

export function createRecordStore({
  db,
  readDb,
  cipher,
}: Pick<Store<UssdTables>, 'db' | 'readDb' | 'cipher'>): RecordStore {
  const seal = <Row extends Partial<RecordTable> & { id: string }>(row: Row) =>
    cipher.sealRow(sealedTables.record, row);
  return {
    async insert(trx, { id, program, kind, phone, fields, now }) {
      const row = { id, program, kind, phone, fields: JSON.stringify(fields), created_at: now };
      await trx
        .insertInto('ussd_record')
        .values(seal(row))
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    },
    async update(trx, { id, matches, fields }) {
      const row = await trx.selectFrom('ussd_record').selectAll().where('id', '=', id).executeTakeFirst();
      const before = row && toRecord(cipher.openRow(sealedTables.record, row));
      if (!before || !matches(before)) return false;
      const changed = seal({ id, fields: JSON.stringify({ ...before.fields, ...fields }) });
      await trx.updateTable('ussd_record').set({ fields: changed.fields }).where('id', '=', id).execute();
      return true;
    },
    async find({ program, kind, phone, limit, offset = 0 }) {
      let query = db.selectFrom('ussd_record').selectAll().where('program', '=', program).where('kind', '=', kind);
      if (phone !== undefined) query = query.where('phone', '=', cipher.token(phone));
      const rows = await query.orderBy('created_at', 'desc').orderBy('id').limit(limit).offset(offset).execute();
      return rows.map((row) => toRecord(cipher.openRow(sealedTables.record, row, unreadable)));
    },
    async *scan({ program, kind, phone }) {
      let newest: { created_at: number; id: string } | undefined;
      do {
        let query = db.selectFrom('ussd_record').selectAll().where('program', '=', program).where('kind', '=', kind);
        if (phone !== undefined) query = query.where('phone', '=', cipher.token(phone));
        if (newest) {
          const { created_at, id } = newest;
          query = query
            .where('created_at', '<=', created_at)
            .where(({ or, eb }) => or([eb('created_at', '<', created_at), eb('id', '>', id)]));
        }
        const rows = await query.orderBy('created_at', 'desc').orderBy('id').limit(batchSize).execute();
        yield rows.map((row) => toRecord(cipher.openRow(sealedTables.record, row, unreadable)));
        newest = rows.length === batchSize ? rows.at(-1) : undefined;
        // Without a turn of the event loop, SQLite would hold every other caller until the last batch.
        if (newest) await setImmediate();
      } while (newest);
    },
    async kinds() {
      const rows = await readDb
        .selectFrom('ussd_record')
        .select(['program', 'kind', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['program', 'kind'])
        .orderBy('program')
        .orderBy('kind')
        .execute();
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    },
  };
}

function toRecord({ id, phone, fields, created_at }: RecordTable): StoredRecord {
  return { id, phoneNumber: phone, createdAt: new Date(created_at).toISOString(), fields: JSON.parse(fields) };
}
