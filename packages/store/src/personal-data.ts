import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DataCipher, SealedTable } from './cipher/data-cipher.ts';

// biome-ignore lint/suspicious/noExplicitAny: whoever owns the tables knows their types.
type Db = Kysely<any>;

/** Some rows of a person, as they are handed out. */
export interface PersonalRows {
  table: string;
  rows: unknown[];
}

/** The data that a part of a service stores about a person, and how it is exported and erased. `Person` is how it identifies them. */
export interface PersonalData<Person> {
  /** Every table that holds rows of persons. A test compares them with the schema. */
  tables: readonly string[];
  /** What of them is encrypted where the service has a key. */
  sealed?: readonly SealedTable[];
  /** Everything of a person by table, decrypted; never secrets. */
  collect(db: Db, person: Person, cipher: DataCipher): Promise<Record<string, unknown[]>>;
  /** The same, a few rows at a time and each table in one go, where it may be more than fits in memory. */
  read?(db: Db, person: Person, cipher: DataCipher): AsyncIterable<PersonalRows>;
  /** Removes it, or cuts its link to the person. Runs in one transaction with the other parts. */
  erase(trx: Db, person: Person): Promise<void>;
}

/** A table whose rows belong to persons. */
export interface PersonalTable<Person> {
  table: string;
  sealed?: SealedTable;
  /** Columns that are not handed out: secrets and hashes. */
  omit?: readonly string[];
  where(person: Person): RawBuilder<SqlBool>;
  /** Erases the rows where deleting them is not enough. */
  erase?(trx: Db, person: Person): Promise<void>;
}

/**
 * Tables whose rows of a person are exported and deleted, in this order.
 *
 * @example
 * ```ts
 * import { personalTables } from '@palaver/store';
 * import { sql } from 'kysely';
 *
 * export const personalData = personalTables<{ did: string }>([{ table: 'goat', where: ({ did }) => sql`owner = ${did}` }]);
 * ```
 */
export function personalTables<Person>(entries: readonly PersonalTable<Person>[]): PersonalData<Person> {
  async function* read(db: Db, person: Person, cipher: DataCipher): AsyncGenerator<PersonalRows> {
    for (const entry of entries) {
      const { table, sealed, omit = [] } = entry;
      const show = (row: Row) => {
        const opened = sealed ? openReadable(cipher, sealed, row) : row;
        return Object.fromEntries(Object.entries(opened).filter(([name]) => !omit.includes(name)));
      };
      yield { table, rows: [] };
      for await (const rows of readRows(db, entry, person)) yield { table, rows: rows.map(show) };
    }
  }
  return {
    tables: [...new Set(entries.map(({ table }) => table))],
    sealed: entries.flatMap(({ sealed }) => sealed ?? []),
    async collect(db, person, cipher) {
      const found: Record<string, unknown[]> = {};
      for await (const { table, rows } of read(db, person, cipher)) {
        found[table] ??= [];
        found[table].push(...rows);
      }
      return found;
    },
    read,
    async erase(trx, person) {
      for (const { table, where, erase } of entries) {
        await erase?.(trx, person);
        await sql`delete from ${sql.table(table)} where ${where(person)}`.execute(trx);
      }
    },
  };
}

type Row = Record<string, unknown>;

const rowsAtOnce = 4;

/** Rows with encrypted columns may be large: first their keys are read, then a few rows at a time. */
async function* readRows<Person>(db: Db, { table, sealed, where }: PersonalTable<Person>, person: Person) {
  const own = where(person);
  if (!sealed) {
    yield (await sql<Row>`select * from ${sql.table(table)} where ${own}`.execute(db)).rows;
    return;
  }
  const columns = sql.join(sealed.key.map((column) => sql.ref(column)));
  const { rows: keys } = await sql<Row>`select distinct ${columns} from ${sql.table(table)} where ${own}`.execute(db);
  const isRow = (key: Row) =>
    sql`(${sql.join(
      sealed.key.map((column) => sql`${sql.ref(column)} = ${key[column]}`),
      sql` and `,
    )})`;
  for (let at = 0; at < keys.length; at += rowsAtOnce) {
    const some = sql.join(keys.slice(at, at + rowsAtOnce).map(isRow), sql` or `);
    yield (await sql<Row>`select * from ${sql.table(table)} where ${some}`.execute(db)).rows;
  }
}

/** Makes cells that cannot be decrypted null and names them in `unreadable`. */
function openReadable(cipher: DataCipher, table: SealedTable, row: Record<string, unknown>): Record<string, unknown> {
  const columns = [...table.sealed, ...(table.tokens ?? [])];
  const opened = cipher.openRow(table, row, Object.fromEntries(columns.map((column) => [column, null])));
  const unreadable = columns.filter((column) => typeof row[column] === 'string' && opened[column] === null);
  return unreadable.length > 0 ? { ...opened, unreadable } : opened;
}
