import type { DeliveryStatus, ResultSource } from '@palaver/contract/internal';
import type { SealedTable } from '@palaver/store';
import { mapRows, readPieces, unreadableText } from '@palaver/store/internal';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type RecordTable, type SmsTable, type SubmissionTable, sealedTables, type UssdStore } from './tables.ts';

/** A record, a submission of a form or an SMS message, decrypted. */
export type Row = Pick<RecordTable, 'id' | 'program' | 'phone' | 'created_at'> &
  Partial<Pick<RecordTable, 'kind' | 'fields'>> &
  Partial<Pick<SubmissionTable, 'form_id' | 'form_version' | 'answers' | 'xml' | 'attempts' | 'fault'>> &
  Pick<SmsTable, 'receipt'> & { status?: DeliveryStatus };

export interface RowFilter {
  id?: string | undefined;
  program?: string | undefined;
  /** The kind of records, or the id of a form. */
  name?: string | undefined;
  phone?: string | undefined;
  status?: string | undefined;
  /** Milliseconds since 1970; `until` is not included. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface Page {
  limit: number;
  offset?: number;
  hasXml?: boolean;
}

interface Source {
  table: string;
  sealed: SealedTable;
  name: RawBuilder<unknown>;
  status: RawBuilder<unknown>;
  columns: readonly string[];
}

/** Everything but what no list shows: the XML of forms and the text of messages. */
const common = ['id', 'program', 'phone', 'created_at'];
const delivery = ['status', 'attempts', 'fault'];
const sources: Record<ResultSource, Source> = {
  records: {
    table: 'ussd_record',
    sealed: sealedTables.record,
    name: sql.ref('kind'),
    status: sql`'stored'`,
    columns: [...common, 'kind', 'fields'],
  },
  forms: {
    table: 'ussd_submission',
    sealed: sealedTables.submission,
    name: sql.ref('form_id'),
    status: sql.ref('status'),
    columns: [...common, ...delivery, 'form_id', 'form_version', 'answers'],
  },
  messages: {
    table: 'ussd_sms',
    sealed: sealedTables.sms,
    name: sql`'sms'`,
    status: sql.ref('status'),
    columns: [...common, ...delivery, 'receipt'],
  },
};
const unreadable = {
  phone: unreadableText,
  caller: unreadableText,
  body: unreadableText,
  xml: unreadableText,
  fields: JSON.stringify({ unreadable: true }),
  answers: JSON.stringify({ unreadable: 'true' }),
};
/** The XML of a form may have a hundred kilobytes. */
const xmlPieceSize = 20;

export const isAfter = ({ created_at: at, id }: Pick<Row, 'created_at' | 'id'>) =>
  sql<SqlBool>`created_at <= ${at} and (created_at < ${at} or id > ${id})`;

/** The newest first. */
export function createRows({ readDb, cipher }: UssdStore) {
  const toWhere = ({ name, status }: Source, filter: RowFilter, after?: Row): RawBuilder<SqlBool> => {
    const { id, program, phone, since, until } = filter;
    const parts = [
      id !== undefined && sql`id = ${id}`,
      program !== undefined && sql`program = ${program}`,
      filter.name !== undefined && sql`${name} = ${filter.name}`,
      phone !== undefined && sql`phone = ${cipher.token(phone)}`,
      filter.status !== undefined && sql`${status} = ${filter.status}`,
      since !== undefined && sql`created_at >= ${since}`,
      until !== undefined && sql`created_at < ${until}`,
      after && isAfter(after),
    ];
    return sql<SqlBool>`${sql.join([sql`1 = 1`, ...parts.filter((part) => part !== false && part !== undefined)], sql` and `)}`;
  };
  async function load(source: Source, where: RawBuilder<SqlBool>, { limit, offset = 0, hasXml = false }: Page) {
    const columns = hasXml ? [...source.columns, 'xml'] : source.columns;
    const { rows } =
      await sql<Row>`select ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(source.table)}
      where ${where} order by created_at desc, id limit cast(${limit} as integer) offset ${offset}`.execute(readDb);
    return rows;
  }
  const open = (source: Source, rows: Row[]) => mapRows(rows, (row) => cipher.openRow(source.sealed, row, unreadable));
  return {
    async page(name: ResultSource, filter: RowFilter, page: Page) {
      const source = sources[name];
      return open(source, await load(source, toWhere(source, filter), page));
    },
    /** All that match, in pieces; each once, whatever is added or changed meanwhile. */
    async *pieces(name: ResultSource, filter: RowFilter, { hasXml = false }: Pick<Page, 'hasXml'> = {}) {
      const source = sources[name];
      const pieces = readPieces<Row>(
        (after, limit) => load(source, toWhere(source, filter, after), { limit, hasXml }),
        hasXml ? { size: xmlPieceSize } : {},
      );
      for await (const rows of pieces) yield await open(source, rows);
    },
    async count<Column extends 'program' | 'name' | 'status'>(
      name: ResultSource,
      columns: readonly Column[],
      filter: RowFilter,
    ) {
      const source = sources[name];
      const shown = columns.map(
        (column) =>
          sql`${column === 'program' ? sql.ref(column) : source[column as 'name' | 'status']} as ${sql.ref(column)}`,
      );
      const places = sql.raw(columns.map((_, i) => i + 1).join(', '));
      const grouped = columns.length > 0 ? sql`group by ${places} order by ${places}` : sql``;
      const { rows } = await sql<Record<Column, string> & { count: number }>`
        select ${sql.join([...shown, sql`count(*) as count`])} from ${sql.table(source.table)}
        where ${toWhere(source, filter)} ${grouped}`.execute(readDb);
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    },
  };
}

export type Rows = ReturnType<typeof createRows>;
