import { randomInt } from 'node:crypto';
import type { UssdReport } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { readPieces, unreadableText } from '@palaver/store/internal';
import type { Transaction } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { ReportTable, UssdTables } from '../store/tables.ts';

export interface NewReport {
  accountId: string;
  phone: string;
  activity: string;
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

export interface Reports {
  file(trx: Transaction<UssdTables>, report: NewReport): Promise<string>;
  describe(trx: Transaction<UssdTables>, details: ReportDetails): Promise<void>;
  /** The reference of a report with the same content that was filed after `since`. */
  findSame(trx: Transaction<UssdTables>, report: NewReport, since: number): Promise<string | undefined>;
  listOf(phone: string, limit: number): Promise<ReportTable[]>;
  countOf(phone: string): Promise<number>;
  list(page: { limit: number; offset: number }): Promise<{ reports: UssdReport[]; total: number }>;
  /** All of them, newest first, in pieces; each once, whatever is filed meanwhile. */
  listAll(): AsyncGenerator<UssdReport[]>;
}

const unreadable = {
  phone: unreadableText,
  activity: unreadableText,
  amount: unreadableText,
  place: unreadableText,
  note: unreadableText,
};

// Without letters and digits that are mistaken for each other when read out over the phone.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

export function createReports({ db, readDb, cipher }: Pick<Store<UssdTables>, 'db' | 'readDb' | 'cipher'>): Reports {
  const open = (row: ReportTable) => cipher.openRow(sealedTables.report, row, unreadable);
  return {
    async file(trx, { accountId, phone, activity, amount, unit, now }) {
      const reference = Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');
      const row = { reference, account_id: accountId, phone, activity, amount, unit, created_at: now };
      await trx.insertInto('ussd_report').values(cipher.sealRow(sealedTables.report, row)).execute();
      return reference;
    },
    async describe(trx, { reference, phone, ...details }) {
      await trx
        .updateTable('ussd_report')
        .set(cipher.sealRow(sealedTables.report, { reference, ...details }))
        .where('reference', '=', reference)
        .where('phone', '=', cipher.token(phone))
        .execute();
    },
    async findSame(trx, { accountId, phone, activity, amount }, since) {
      const recent = await trx
        .selectFrom('ussd_report')
        .selectAll()
        .where('phone', '=', cipher.token(phone))
        .where('created_at', '>', since)
        .where('account_id', '=', accountId)
        .orderBy('created_at', 'desc')
        .execute();
      // Compared here: encrypted, equal values differ.
      return recent.map(open).find((row) => row.activity === activity && row.amount === amount)?.reference;
    },
    async listOf(phone, limit) {
      const rows = await db
        .selectFrom('ussd_report')
        .selectAll()
        .where('phone', '=', cipher.token(phone))
        .orderBy('created_at', 'desc')
        .orderBy('reference')
        .limit(limit)
        .execute();
      return rows.map(open);
    },
    async countOf(phone) {
      const query = db.selectFrom('ussd_report').where('phone', '=', cipher.token(phone));
      const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
      return Number(count);
    },
    async list({ limit, offset }) {
      const rows = await readDb
        .selectFrom('ussd_report')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('reference')
        .limit(limit)
        .offset(offset)
        .execute();
      const { count } = await readDb
        .selectFrom('ussd_report')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return { reports: rows.map((row) => toReport(open(row))), total: Number(count) };
    },
    async *listAll() {
      const query = readDb.selectFrom('ussd_report').selectAll().orderBy('created_at', 'desc').orderBy('reference');
      const load = (after: ReportTable | undefined, limit: number): Promise<ReportTable[]> => {
        if (!after) return query.limit(limit).execute();
        const { created_at, reference } = after;
        return query
          .where('created_at', '<=', created_at)
          .where(({ eb, or }) => or([eb('created_at', '<', created_at), eb('reference', '>', reference)]))
          .limit(limit)
          .execute();
      };
      for await (const rows of readPieces(load)) yield rows.map((row) => toReport(open(row)));
    },
  };
}

function toReport(row: ReportTable): UssdReport {
  const { reference, phone, activity, amount, unit, place, date, note } = row;
  return {
    reference,
    phoneNumber: phone,
    type: activity,
    amount,
    createdAt: new Date(row.created_at).toISOString(),
    ...(unit !== null && { unit }),
    ...(place !== null && { place }),
    ...(date !== null && { date }),
    ...(note !== null && { note }),
  };
}
