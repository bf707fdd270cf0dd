import type { Store } from '@palaver/store';
import { readPieces, unreadableText } from '@palaver/store/internal';
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
  /** The same for operators. */
  list: RecordStore['find'];
  /** Every record, the newest first, in batches between which other requests are served; in a transaction, as it sees them. */
  scan(
    kind: RecordKind & { phone?: string | undefined },
    trx?: Transaction<UssdTables>,
  ): AsyncGenerator<StoredRecord[]>;
  kinds(): Promise<(RecordKind & { count: number })[]>;
}

const unreadable = { fields: JSON.stringify({ unreadable: true }), phone: unreadableText };

export function createRecordStore({
  db,
  readDb,
  cipher,
}: Pick<Store<UssdTables>, 'db' | 'readDb' | 'cipher'>): RecordStore {
  const seal = <Row extends Partial<RecordTable> & { id: string }>(row: Row) =>
    cipher.sealRow(sealedTables.record, row);
  const open = (row: RecordTable) => toRecord(cipher.openRow(sealedTables.record, row, unreadable));
  const select = (from: typeof db, { program, kind, phone }: RecordKind & { phone?: string | undefined }) => {
    const query = from.selectFrom('ussd_record').selectAll().where('program', '=', program).where('kind', '=', kind);
    const own = phone === undefined ? query : query.where('phone', '=', cipher.token(phone));
    return own.orderBy('created_at', 'desc').orderBy('id');
  };
  const findIn =
    (from: typeof db): RecordStore['find'] =>
    async ({ limit, offset = 0, ...wanted }) =>
      (await select(from, wanted).limit(limit).offset(offset).execute()).map(open);
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
    find: findIn(db),
    list: findIn(readDb),
    async *scan(wanted, trx) {
      const query = select(trx ?? db, wanted);
      const load = (after: RecordTable | undefined, limit: number): Promise<RecordTable[]> => {
        if (!after) return query.limit(limit).execute();
        const { created_at, id } = after;
        return query
          .where('created_at', '<=', created_at)
          .where(({ or, eb }) => or([eb('created_at', '<', created_at), eb('id', '>', id)]))
          .limit(limit)
          .execute();
      };
      for await (const rows of readPieces(load)) yield rows.map(open);
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
