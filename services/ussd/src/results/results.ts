import {
  type DeliveryStatus,
  type ListedSet,
  type ResultSource,
  resultSources,
  type UssdResult,
} from '@palaver/contract/internal';
import type { SealedTable, Store } from '@palaver/store';
import { readPieces, unreadableText } from '@palaver/store/internal';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { sealedTables } from '../store/sealed-tables.ts';
import type { RecordTable, SmsTable, SubmissionTable, UssdTables } from '../store/tables.ts';

/** The records of a kind, the submissions of a form, or the SMS messages (`sms`) of a program. */
export interface ResultSet {
  program: string;
  source: ResultSource;
  name: string;
}

export interface Result extends UssdResult {
  phoneNumber: string;
}

/** A result of one caller, with where it belongs. */
export type CallerResult = UssdResult & ResultSet;

export interface ResultFilter {
  /** Milliseconds since 1970; `until` is not included. */
  since?: number | undefined;
  until?: number | undefined;
  status?: DeliveryStatus | undefined;
  /** Results whose `column` is `value`. */
  column?: string | undefined;
  value?: string | undefined;
  /** Results with this text in any value. */
  search?: string | undefined;
  /** What the reader sees of a result. Only that is compared: a masked number cannot be found by guessing at its digits. */
  show?(result: Result): Result;
}

export interface ResultPage {
  results: Result[];
  total: number;
  /** Values were compared in the newest `maxCompared` results only. */
  isPartial: boolean;
}

export interface Results {
  sets(program: string): Promise<ListedSet[]>;
  /** The newest first. */
  page(set: ResultSet, filter: ResultFilter, page: { limit: number; offset: number }): Promise<ResultPage>;
  /** All that match, the newest first, in pieces; each once, whatever is added meanwhile. */
  all(set: ResultSet, filter: ResultFilter): AsyncGenerator<Result[]>;
  /** The newest of one phone number, `limit` of each source. */
  ofCaller(phoneNumber: string, limit: number): Promise<CallerResult[]>;
  /** How many there are by time and status, whatever their values. */
  count(set: ResultSet, filter: ResultFilter): Promise<number>;
}

/** Values may be encrypted, so the database cannot compare them. */
export const maxCompared = 20_000;

/** Everything but what no list shows: the XML of forms and the text of messages. */
const delivery = ['status', 'attempts', 'fault'] as const;
const common = ['id', 'program', 'phone', 'created_at'] as const;

type Row = Partial<RecordTable & SubmissionTable & SmsTable> & { id: string; phone: string; created_at: number };

interface Source {
  table: string;
  name?: 'kind' | 'form_id';
  sealed: SealedTable;
  columns: readonly string[];
}

const sources: Record<ResultSource, Source> = {
  records: {
    table: 'ussd_record',
    name: 'kind',
    sealed: sealedTables.record,
    columns: [...common, 'kind', 'fields'],
  },
  forms: {
    table: 'ussd_submission',
    name: 'form_id',
    sealed: sealedTables.submission,
    columns: [...common, ...delivery, 'form_id', 'answers'],
  },
  messages: { table: 'ussd_sms', sealed: sealedTables.sms, columns: [...common, ...delivery] },
};
const columnsOf = ({ columns }: Source) => sql.join(columns.map((column) => sql.ref(column)));
const unreadable = {
  phone: unreadableText,
  caller: unreadableText,
  body: unreadableText,
  xml: unreadableText,
  fields: JSON.stringify({ unreadable: true }),
  answers: JSON.stringify({ unreadable: 'true' }),
};

/** What programs have collected and sent, as operators look through it. */
export function createResults({ readDb, cipher }: Pick<Store<UssdTables>, 'readDb' | 'cipher'>): Results {
  async function load({ source }: ResultSet, where: RawBuilder<SqlBool>, page: { limit: number; offset?: number }) {
    const { rows } = await sql<Row>`select ${columnsOf(sources[source])} from ${sql.table(sources[source].table)}
      where ${where} order by created_at desc, id limit ${page.limit} offset ${page.offset ?? 0}`.execute(readDb);
    return rows;
  }
  const open = ({ source }: ResultSet, rows: Row[]) =>
    rows.map((row) => toResult(cipher.openRow(sources[source].sealed, row, unreadable)));
  async function* readAll(set: ResultSet, filter: ResultFilter): AsyncGenerator<Result[]> {
    const where = toWhere(set, filter);
    const pieces = readPieces<Row>((after, limit) => {
      if (!after) return load(set, where, { limit });
      const { created_at: at, id } = after;
      return load(set, sql`${where} and created_at <= ${at} and (created_at < ${at} or id > ${id})`, { limit });
    });
    for await (const rows of pieces) yield open(set, rows);
  }
  async function count(set: ResultSet, filter: ResultFilter): Promise<number> {
    const table = sql.table(sources[set.source].table);
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from ${table} where ${toWhere(set, filter)}`.execute(readDb);
    return Number(rows[0]?.count ?? 0);
  }
  return {
    count,
    async sets(program) {
      const lists = await Promise.all(
        resultSources.map(async (source) => {
          const { table, name } = sources[source];
          const columns = [name ? sql.ref(name) : sql`'sms'`, source === 'records' ? sql`'stored'` : sql.ref('status')];
          const { rows } = await sql<{ name: string; status: DeliveryStatus; count: number }>`
            select ${columns[0]} as name, ${columns[1]} as status, count(*) as count from ${sql.table(table)}
            where program = ${program} group by 1, 2 order by 1, 2`.execute(readDb);
          return toSets(source, rows);
        }),
      );
      return lists.flat();
    },
    async ofCaller(phoneNumber, limit) {
      const phone = cipher.token(phoneNumber);
      const lists = await Promise.all(
        resultSources.map(async (source) => {
          const { table, name, sealed } = sources[source];
          const { rows } =
            await sql<Row>`select ${columnsOf(sources[source])} from ${sql.table(table)} where phone = ${phone}
            order by created_at desc, id limit ${limit}`.execute(readDb);
          return rows.map((row) => {
            const { phoneNumber: _, ...result } = toResult(cipher.openRow(sealed, row, unreadable));
            return { ...result, source, program: row.program ?? '', name: (name && row[name]) ?? 'sms' };
          });
        }),
      );
      return lists.flat();
    },
    async page(set, filter, { limit, offset }) {
      if (!comparesValues(filter))
        return {
          results: open(set, await load(set, toWhere(set, filter), { limit, offset })),
          total: await count(set, filter),
          isPartial: false,
        };
      const results: Result[] = [];
      let [total, compared] = [0, 0];
      for await (const piece of readAll(set, filter)) {
        compared += piece.length;
        for (const result of piece) {
          if (!hasValues(result, filter)) continue;
          if (total >= offset && results.length < limit) results.push(result);
          total += 1;
        }
        if (compared >= maxCompared) return { results, total, isPartial: (await count(set, filter)) > compared };
      }
      return { results, total, isPartial: false };
    },
    async *all(set, filter) {
      for await (const piece of readAll(set, filter))
        yield comparesValues(filter) ? piece.filter((result) => hasValues(result, filter)) : piece;
    },
  };
}

const comparesValues = ({ column, search }: ResultFilter) => column !== undefined || search !== undefined;

function hasValues(result: Result, { column, value = '', search, show }: ResultFilter): boolean {
  const { values } = show ? show(result) : result;
  if (column !== undefined && (values[column] ?? '') !== value) return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return Object.values(values).some((text) => text.toLowerCase().includes(wanted));
}

function toWhere({ program, source, name }: ResultSet, { since, until, status }: ResultFilter): RawBuilder<SqlBool> {
  const column = sources[source].name;
  const parts = [sql`program = ${program}`];
  if (column !== undefined) parts.push(sql`${sql.ref(column)} = ${name}`);
  if (since !== undefined) parts.push(sql`created_at >= ${since}`);
  if (until !== undefined) parts.push(sql`created_at < ${until}`);
  if (status !== undefined && source !== 'records') parts.push(sql`status = ${status}`);
  return sql<SqlBool>`${sql.join(parts, sql` and `)}`;
}

function toSets(source: ResultSource, rows: { name: string; status: DeliveryStatus; count: number }[]): ListedSet[] {
  return Array.from(
    Map.groupBy(rows, ({ name }) => name),
    ([name, list]) => ({
      source,
      name,
      count: list.reduce((sum, row) => sum + Number(row.count), 0),
      statuses:
        source === 'records' ? {} : Object.fromEntries(list.map(({ status, count }) => [status, Number(count)])),
    }),
  );
}

function toResult({ id, phone, created_at, fields, answers, status, attempts = 0, fault = null }: Row): Result {
  const values = Object.entries(JSON.parse(fields ?? answers ?? '{}') as Record<string, unknown>);
  return {
    id,
    phoneNumber: phone,
    createdAt: new Date(Number(created_at)).toISOString(),
    values: Object.fromEntries(values.map(([name, value]) => [name, toText(value)])),
    ...(status !== undefined && { delivery: { status, attempts, fault } }),
  };
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
