import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/** `table.column` of every column of a database that contains one of the texts. */
export async function searchDatabase(url: string, texts: string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const [table, rows] of Object.entries(await readTables(url))) {
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        const text = (
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
        ).toLowerCase();
        if (texts.some((wanted) => text.includes(wanted.toLowerCase()))) found.add(`${table}.${column}`);
      }
    }
  }
  return [...found].sort();
}

/** The names of the tables of a database. */
export async function listTables(url: string): Promise<string[]> {
  return Object.keys(await readTables(url));
}

async function readTables(url: string): Promise<Record<string, Record<string, unknown>[]>> {
  return url.startsWith('file:') ? readSqlite(url.slice('file:'.length)) : readPostgres(url);
}

function readSqlite(path: string): Record<string, Record<string, unknown>[]> {
  const database = new DatabaseSync(path, { readOnly: true });
  const names = database.prepare("select name from sqlite_schema where type = 'table'").all() as { name: string }[];
  const tables = names.map(({ name }) => [name, database.prepare(`select * from "${name}"`).all()]);
  database.close();
  return Object.fromEntries(tables);
}

async function readPostgres(url: string): Promise<Record<string, Record<string, unknown>[]>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: names } = await client.query("select tablename as name from pg_tables where schemaname = 'public'");
    const tables: Record<string, Record<string, unknown>[]> = {};
    for (const { name } of names) tables[name] = (await client.query(`select * from "${name}"`)).rows;
    return tables;
  } finally {
    await client.end();
  }
}
