import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

export interface Column {
  type: string;
  /** An insert must name it: it is not null and has no default. */
  required: boolean;
  /** How PostgreSQL orders its texts, where the database does not decide. */
  collation?: string | null;
}

/** The columns of every table of a database, as `table.column`. */
export async function listColumns(url: string): Promise<Record<string, Column>> {
  return url.startsWith('file:') ? listInSqlite(url.slice('file:'.length)) : listInPostgres(url);
}

function listInSqlite(path: string): Record<string, Column> {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database
    .prepare(
      `select m.name as name, c.name as column, lower(c.type) as type, c."notnull" = 1 and c.dflt_value is null as required
      from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' order by 1, 2`,
    )
    .all() as { name: string; column: string; type: string; required: number }[];
  database.close();
  return Object.fromEntries(
    rows.map(({ name, column, type, required }) => [`${name}.${column}`, { type, required: required === 1 }]),
  );
}

async function listInPostgres(url: string): Promise<Record<string, Column>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `select table_name || '.' || column_name as name, data_type as type, collation_name as collation,
      is_nullable = 'NO' and column_default is null and is_generated = 'NEVER' as required
    from information_schema.columns where table_schema = 'public' order by 1`,
  );
  await client.end();
  return Object.fromEntries(rows.map(({ name, ...column }) => [name, column]));
}
