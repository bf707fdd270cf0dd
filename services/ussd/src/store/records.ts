import type { Store } from '@palaver/store';
import { readPieces, unreadableText } from '@palaver/store/internal';
import type { Transaction } from 'kysely';
import { isAfter } from './rows.ts';
import { sealedTables } from './sealed-tables.ts';
import type { RecordTable, UssdTables } from './tables.ts';

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
  find(kind: RecordKind & { phone?: string | undefined; limit: number }): Promise<StoredRecord[]>;
  count(kind: RecordKind & { phone: string }): Promise<number>;
  /** Every record, the newest first, in batches between which other requests are served; in a transaction, as it sees them. */
  scan(
    kind: RecordKind & { phone?: string | undefined },
    trx?: Transaction<UssdTables>,
  ): AsyncGenerator<StoredRecord[]>;
}

const unreadable = { fields: JSON.stringify({ unreadable: true }), phone: unreadableText };

export function createRecordStore({ db, cipher }: Pick<Store<UssdTables>, 'db' | 'cipher'>): RecordStore {
  const seal = <Row extends Partial<RecordTable> & { id: string }>(row: Row) =>
    cipher.sealRow(sealedTables.record, row);
  const open = (row: RecordTable) => toRecord(cipher.openRow(sealedTables.record, row, unreadable));
  const select = (from: typeof db, { program, kind, phone }: RecordKind & { phone?: string | undefined }) => {
    const query = from.selectFrom('ussd_record').where('program', '=', program).where('kind', '=', kind);
    return phone === undefined ? query : query.where('phone', '=', cipher.token(phone));
  };
  const newest = (...wanted: Parameters<typeof select>) =>
    select(...wanted)
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id');
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
    find: async ({ limit, ...wanted }) => (await newest(db, wanted).limit(limit).execute()).map(open),
    async count(wanted) {
      const query = select(db, wanted).select(({ fn }) => fn.countAll<number>().as('count'));
      return Number((await query.executeTakeFirstOrThrow()).count);
    },
    async *scan(wanted, trx) {
      const query = newest(trx ?? db, wanted);
      const load = (after: RecordTable | undefined, limit: number): Promise<RecordTable[]> =>
        (after ? query.where(isAfter(after)) : query).limit(limit).execute();
      for await (const rows of readPieces(load)) yield rows.map(open);
    },
  };
}

export function toRecord({
  id,
  phone,
  fields,
  created_at,
}: Pick<RecordTable, 'id' | 'phone' | 'fields' | 'created_at'>): StoredRecord {
  return { id, phoneNumber: phone, createdAt: new Date(created_at).toISOString(), fields: JSON.parse(fields) };
}
