import { randomInt } from 'node:crypto';
import type { UssdReport } from '@palaver/contract/internal';
import { readPieces, unreadableText } from '@palaver/store/internal';
import { sql } from 'kysely';
import { isAfter, type Row } from './rows.ts';
import { countRows, insertOnce, type RecordTable, sealedTables, type Trx, toTime, type UssdStore } from './tables.ts';

type RecordKind = Pick<RecordTable, 'program' | 'kind'>;

/** Its id is made of the key of the action that stores it: the same for a retry. */
interface NewRecord extends RecordKind, Pick<RecordTable, 'id' | 'phone'> {
  fields: Record<string, unknown>;
  now: number;
}

export type StoredRecord = ReturnType<typeof toRecord>;

/** With a random number that each change of the record replaces. */
export type MarkedRecord = StoredRecord & { mark: number };

/** Without a phone: the records of everyone. */
export type WantedRecords = RecordKind & { phone?: string | undefined };

interface RecordChange {
  id: string;
  matches(record: StoredRecord): boolean;
  fields: Record<string, unknown>;
}

/** 48 bits: the sum of many is still a 64-bit integer. */
const newMark = () => randomInt(2 ** 48 - 1);

const unreadable = { fields: JSON.stringify({ unreadable: true }), phone: unreadableText };

export function createRecordStore({ db, cipher }: UssdStore) {
  const seal = <Row extends Partial<RecordTable> & { id: string }>(row: Row) =>
    cipher.sealRow(sealedTables.record, row);
  const open = (row: RecordTable) => toRecord(cipher.openRow(sealedTables.record, row));
  const openAny = (row: RecordTable) => toRecord(cipher.openRow(sealedTables.record, row, unreadable));
  const select = (from: typeof db, { program, kind, phone }: WantedRecords) => {
    const query = from.selectFrom('ussd_record').where('program', '=', program).where('kind', '=', kind);
    return phone === undefined ? query : query.where('phone', '=', cipher.token(phone));
  };
  const newest = (...wanted: Parameters<typeof select>) =>
    select(...wanted)
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id');
  return {
    async insert(trx: Trx, { id, program, kind, phone, fields, now }: NewRecord) {
      const row = { id, program, kind, phone, fields: JSON.stringify(fields), created_at: now, mark: newMark() };
      await insertOnce(trx, 'ussd_record', seal(row));
    },
    /** False if the record does not match any more, as the transaction sees it, or is gone. */
    async update(trx: Trx, { id, matches, fields }: RecordChange) {
      const row = await trx.selectFrom('ussd_record').selectAll().where('id', '=', id).executeTakeFirst();
      const before = row && open(row);
      if (!before || !matches(before)) return false;
      const changed = seal({ id, fields: JSON.stringify({ ...before.fields, ...fields }) });
      const change = { fields: changed.fields, mark: newMark() };
      await trx.updateTable('ussd_record').set(change).where('id', '=', id).execute();
      return true;
    },
    find: async ({ limit, ...wanted }: WantedRecords & { limit: number }) =>
      (await newest(db, wanted).limit(limit).execute()).map(openAny),
    count: (wanted: RecordKind & { phone: string }) => countRows(select(db, wanted)),
    /** Other or changed records have another sum of marks. Read from an index alone; `count` is above `most` if there are more. */
    async mark({ most, ...wanted }: WantedRecords & { most: number }, trx?: Trx) {
      const reader = trx ?? db;
      const some = select(reader, wanted).select('mark');
      const { count, marks } = await reader
        .selectFrom(some.limit(most + 1).as('some'))
        .select(({ fn }) => [
          fn.countAll<number>().as('count'),
          sql<string>`cast(coalesce(sum(mark), 0) as text)`.as('marks'),
        ])
        .executeTakeFirstOrThrow();
      return { count: Number(count), marks: BigInt(marks) };
    },
    /** The newest first. Throws at a record that cannot be decrypted: what is computed without it would be wrong. */
    async *scan(wanted: WantedRecords, trx?: Trx) {
      const query = newest(trx ?? db, wanted);
      const load = (after: RecordTable | undefined, limit: number): Promise<RecordTable[]> =>
        (after ? query.where(isAfter(after)) : query).limit(limit).execute();
      for await (const rows of readPieces(load)) yield rows.map((row) => ({ ...open(row), mark: row.mark }));
    },
  };
}

export type RecordStore = ReturnType<typeof createRecordStore>;

export function toRecord({ id, phone, created_at, ...row }: Omit<RecordTable, 'program' | 'kind' | 'mark'>) {
  const fields: Record<string, unknown> = JSON.parse(row.fields);
  return { id, phoneNumber: phone, createdAt: toTime(created_at), fields };
}

/** Reports of activities are records that the bundled menus keep. */
export const reportKind = { program: 'palaver', kind: 'report' };

type NewReport = Record<'phone' | 'type' | 'amount', string> & { unit: string | null; now: number };

type ReportDetails = Record<'reference' | 'phone', string> & Record<'place' | 'date' | 'note', string | null>;

// Without letters and digits that are mistaken for each other when read out over the phone.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

export function createReports(records: RecordStore) {
  return {
    async file(trx: Trx, { phone, now, ...fields }: NewReport) {
      const reference = Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');
      await records.insert(trx, { ...reportKind, id: reference, phone, fields, now });
      return reference;
    },
    async describe(trx: Trx, { reference, phone, ...fields }: ReportDetails) {
      await records.update(trx, { id: reference, matches: ({ phoneNumber }) => phoneNumber === phone, fields });
    },
    /** The reference of a report with the same content that was filed after `since`. */
    async findSame(trx: Trx, { phone, type, amount }: NewReport, since: number) {
      for await (const piece of records.scan({ ...reportKind, phone }, trx))
        for (const { id, createdAt, fields } of piece) {
          if (Date.parse(createdAt) <= since) return undefined;
          if (fields.type === type && fields.amount === amount) return id;
        }
      return undefined;
    },
    listOf: async (phone: string, limit: number) => (await records.find({ ...reportKind, phone, limit })).map(toReport),
    countOf: (phone: string) => records.count({ ...reportKind, phone }),
  };
}

export type Reports = ReturnType<typeof createReports>;

export const rowToReport = ({ id, phone, created_at, fields = '{}' }: Row) =>
  toReport(toRecord({ id, phone, created_at, fields }));

function toReport({ id, phoneNumber, createdAt, fields }: StoredRecord): UssdReport {
  const { type = unreadableText, amount = unreadableText, ...more } = fields as Partial<UssdReport>;
  const details = ['unit', 'place', 'date', 'note'].flatMap((name) => {
    const value = more[name as keyof typeof more] ?? null;
    return value === null ? [] : [[name, value]];
  });
  return { reference: id, phoneNumber, type, amount, createdAt, ...Object.fromEntries(details) };
}
