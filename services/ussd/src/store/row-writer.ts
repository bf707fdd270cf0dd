import type { Store } from '@palaver/store';
import { CompiledQuery, type RawBuilder, sql, type Transaction } from 'kysely';
import type { UssdTables } from './tables.ts';

export type ColumnType = 'text' | 'bigint' | 'integer';
export type Row = Record<string, string | number | null>;

export interface RowWriterOptions {
  table: string;
  columns: Record<string, ColumnType>;
  /** The column a row is known by; rows that are there already are updated. */
  key: string;
  /** Which of them may be: a condition in SQL. */
  updateWhere?: string;
  /** Columns that an update leaves alone. SQLite rewrites the index of every column that it sets. */
  fixed?: readonly string[];
}

/** Writes rows, each a new one or a change, and returns the keys of those that were written. */
export type WriteRows = (trx: Transaction<UssdTables>, rows: readonly Row[]) => Promise<string[]>;

/**
 * Many rows in few statements, which is what makes group commit cheap. PostgreSQL takes them as one JSON parameter;
 * SQLite is three times as fast with plain values, in statements of a few fixed sizes so that they stay prepared.
 */
export function createRowWriter(
  store: Pick<Store<UssdTables>, 'prepare' | 'engine'>,
  options: RowWriterOptions,
): WriteRows {
  return store.engine === 'postgres' ? createJsonWriter(store, options) : createValuesWriter(options);
}

function createJsonWriter(store: Pick<Store<UssdTables>, 'prepare'>, options: RowWriterOptions): WriteRows {
  const { columns, key } = options;
  const insert = store.prepare((db, { rows }: { rows: string }) => {
    const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)));
    const types = sql.join(Object.entries(columns).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`));
    const source = sql`select ${names} from json_to_recordset(${rows}::json) as row(${types})`;
    const statement: RawBuilder<Row> = sql`${sql.raw(headText(options))} ${source} ${sql.raw(tailText(options))}`;
    return { compile: () => statement.compile(db) };
  });
  return async (trx, rows) => {
    const result = await insert({ rows: JSON.stringify(rows) }, trx);
    return result.rows.map((row) => row[key] as string);
  };
}

const sizes = [16, 4, 1];

function createValuesWriter(options: RowWriterOptions): WriteRows {
  const names = Object.keys(options.columns);
  const toText = (size: number) => {
    const row = `(${names.map(() => '?').join(', ')})`;
    return `${headText(options)} values ${Array.from({ length: size }, () => row).join(', ')} ${tailText(options)}`;
  };
  const statements = sizes.map((size) => ({ size, text: toText(size) }));
  return async (trx, rows) => {
    const written: string[] = [];
    let at = 0;
    for (const { size, text } of statements) {
      for (; rows.length - at >= size; at += size) {
        const values: (string | number | null)[] = [];
        for (let i = at; i < at + size; i++) for (const name of names) values.push(rows[i]?.[name] ?? null);
        const result = await trx.executeQuery<Row>(CompiledQuery.raw(text, values));
        for (const row of result.rows) written.push(row[options.key] as string);
      }
    }
    return written;
  };
}

function headText({ table, columns }: RowWriterOptions): string {
  return `insert into ${table} (${Object.keys(columns).join(', ')})`;
}

function tailText({ columns, key, updateWhere, fixed = [] }: RowWriterOptions): string {
  const changes = Object.keys(columns)
    .filter((name) => name !== key && !fixed.includes(name))
    .map((name) => `${name} = excluded.${name}`);
  const where = updateWhere === undefined ? '' : `where ${updateWhere} `;
  return `on conflict (${key}) do update set ${changes.join(', ')} ${where}returning ${key}`;
}
