import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DataCipher, SealedTable } from './cipher/data-cipher.ts';

// biome-ignore lint/suspicious/noExplicitAny: whoever owns the tables knows their types.
type Db = Kysely<any>;

/**
 * The data that a part of a service stores about a person, and how it is exported and erased. `Person` is how it identifies them.
 *
 * @example
 * ```ts
 * import type { AgentPerson, PersonalData } from '@palaver/agent';
 *
 * export const personalData: PersonalData<AgentPerson> = {
 *   tables: ['agent_goat'],
 *   collect: async () => ({ agent_goat: [] }),
 *   erase: async () => {},
 * };
 * ```
 */
export interface PersonalData<Person> {
  /** Every table that holds rows of persons. A test compares them with the schema. */
  tables: readonly string[];
  /** What of them is encrypted where the service has a key. */
  sealed?: readonly SealedTable[];
  /** Everything of a person by table, decrypted; never secrets. */
  collect(db: Db, person: Person, cipher: DataCipher): Promise<Record<string, unknown[]>>;
  /** Removes it, or cuts its link to the person. Runs in one transaction with the other parts. */
  erase(trx: Db, person: Person): Promise<void>;
}

/**
 * A table whose rows belong to persons.
 *
 * @example
 * ```ts
 * import type { PersonalTable } from '@palaver/store';
 * import { sql } from 'kysely';
 *
 * export const goats: PersonalTable<{ did: string }> = {
 *   table: 'goat',
 *   where: ({ did }) => sql`owner = ${did}`,
 * };
 * ```
 */
export interface PersonalTable<Person> {
  table: string;
  /** Its encrypted columns, if it has any. */
  sealed?: SealedTable;
  /** Columns that are not handed out: secrets and hashes. */
  omit?: readonly string[];
  /** Which rows are the person's. */
  where(person: Person): RawBuilder<SqlBool>;
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
  return {
    tables: [...new Set(entries.map(({ table }) => table))],
    sealed: entries.flatMap(({ sealed }) => sealed ?? []),
    async collect(db, person, cipher) {
      const found: Record<string, unknown[]> = {};
      for (const { table, sealed, omit = [], where } of entries) {
        const { rows } = await sql<
          Record<string, unknown>
        >`select * from ${sql.table(table)} where ${where(person)}`.execute(db);
        const opened = sealed ? rows.map((row) => openReadable(cipher, sealed, row)) : rows;
        const shown = opened.map((row) =>
          Object.fromEntries(Object.entries(row).filter(([name]) => !omit.includes(name))),
        );
        found[table] = [...(found[table] ?? []), ...shown];
      }
      return found;
    },
    async erase(trx, person) {
      for (const { table, where } of entries) {
        await sql`delete from ${sql.table(table)} where ${where(person)}`.execute(trx);
      }
    },
  };
}

/** A cell that cannot be decrypted is null, and `unreadable` names it. */
function openReadable(cipher: DataCipher, table: SealedTable, row: Record<string, unknown>): Record<string, unknown> {
  const columns = [...table.sealed, ...(table.tokens ?? [])];
  const opened = cipher.openRow(table, row, Object.fromEntries(columns.map((column) => [column, null])));
  const unreadable = columns.filter((column) => typeof row[column] === 'string' && opened[column] === null);
  return unreadable.length > 0 ? { ...opened, unreadable } : opened;
}
