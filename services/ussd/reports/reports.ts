import { randomInt } from 'node:crypto';
import type { UssdReport } from '@palaver/contract';
import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { ReportTable, UssdTables } from '../store/tables.ts';

export interface NewReport {
  accountId: string;
  phone: string;
  activity: string;
  amount: string;
  now: number;
}

export interface Reports {
  file(trx: Transaction<UssdTables>, report: NewReport): Promise<string>;
  listOf(phone: string, limit: number): Promise<ReportTable[]>;
  countOf(phone: string): Promise<number>;
  list(page: { limit: number; offset: number }): Promise<{ reports: UssdReport[]; total: number }>;
}

// Without letters and digits that are mistaken for each other when read out over the phone.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

export function createReports({ db }: Pick<Store<UssdTables>, 'db'>): Reports {
  return {
    async file(trx, { accountId, phone, activity, amount, now }) {
      const reference = Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');
      await trx
        .insertInto('ussd_report')
        .values({ reference, account_id: accountId, phone, activity, amount, created_at: now })
        .execute();
      return reference;
    },
    listOf: (phone, limit) =>
      db
        .selectFrom('ussd_report')
        .selectAll()
        .where('phone', '=', phone)
        .orderBy('created_at', 'desc')
        .orderBy('reference')
        .limit(limit)
        .execute(),
    async countOf(phone) {
      const query = db.selectFrom('ussd_report').where('phone', '=', phone);
      const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
      return Number(count);
    },
    async list({ limit, offset }) {
      const rows = await db
        .selectFrom('ussd_report')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('reference')
        .limit(limit)
        .offset(offset)
        .execute();
      const { count } = await db
        .selectFrom('ussd_report')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return { reports: rows.map(toReport), total: Number(count) };
    },
  };
}

function toReport(row: ReportTable): UssdReport {
  const { reference, phone, activity, amount } = row;
  return { reference, phoneNumber: phone, type: activity, amount, createdAt: new Date(row.created_at).toISOString() };
}
