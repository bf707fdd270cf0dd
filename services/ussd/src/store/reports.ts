import { randomInt } from 'node:crypto';
import type { UssdReport } from '@palaver/contract/internal';
import { unreadableText } from '@palaver/store/internal';
import type { Transaction } from 'kysely';
import { type RecordStore, type StoredRecord, toRecord } from './records.ts';
import type { Row } from './rows.ts';
import type { UssdTables } from './tables.ts';

/** Reports of activities are records that the bundled menus keep. */
export const reportKind = { program: 'palaver', kind: 'report' };

export interface NewReport {
  phone: string;
  type: string;
  amount: string;
  unit: string | null;
  now: number;
}

/** What a reporter adds to a report of their own. */
export interface ReportDetails {
  reference: string;
  phone: string;
  place: string | null;
  date: string | null;
  note: string | null;
}

// Without letters and digits that are mistaken for each other when read out over the phone.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

export function createReports(records: RecordStore) {
  return {
    async file(trx: Transaction<UssdTables>, { phone, now, ...fields }: NewReport) {
      const reference = Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');
      await records.insert(trx, { ...reportKind, id: reference, phone, fields, now });
      return reference;
    },
    async describe(trx: Transaction<UssdTables>, { reference, phone, ...fields }: ReportDetails) {
      await records.update(trx, { id: reference, matches: ({ phoneNumber }) => phoneNumber === phone, fields });
    },
    /** The reference of a report with the same content that was filed after `since`. */
    async findSame(trx: Transaction<UssdTables>, { phone, type, amount }: NewReport, since: number) {
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

/** A report as operators read it. */
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
