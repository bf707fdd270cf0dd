import type { Store } from '@palaver/store';
import { sql } from 'kysely';

/** `table.column` of every place in the database where one of the texts stands. */
export async function searchDatabase(store: Pick<Store<never>, 'db'>, texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await store.db.introspection.getTables()) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(store.db);
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        const text = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value);
        if (texts.some((wanted) => text.toLowerCase().includes(wanted.toLowerCase()))) found.push(`${name}.${column}`);
      }
    }
  }
  return [...new Set(found)].sort();
}
