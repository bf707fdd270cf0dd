import pg from 'pg';

interface FillOptions {
  isFilled(table: string): boolean;
  /** SQL for the values of a column, by its name or as `table.column`; `n` is the number of the row. */
  values: Readonly<Record<string, string>>;
  rows: number;
}

/** Every table of a PostgreSQL database gets as many rows. Big numbers are times of today, those of ends a little later. */
export async function fillTables(url: string, { isFilled, values, rows }: FillOptions): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  await client.connect();
  const { rows: columns } = await client.query<{ table: string; name: string; type: string }>(
    `select table_name as table, column_name as name, data_type as type from information_schema.columns
      where table_schema = 'public' and is_generated = 'NEVER' and is_identity = 'NO'`,
  );
  // Rows need not refer to each other.
  await client.query('set session_replication_role = replica');
  const toValue = ({ table, name, type }: (typeof columns)[number]) => {
    const own = values[`${table}.${name}`] ?? values[name];
    if (own !== undefined) return own;
    if (type === 'integer') return 'n';
    if (type !== 'bigint') return `'x' || n`;
    return /until|expires/.test(name) ? `${Date.now() + 3_600_000} + n` : `${Date.now()} - n`;
  };
  for (const [table, list] of Map.groupBy(columns, (column) => column.table)) {
    if (!isFilled(table)) continue;
    const names = list.map(({ name }) => name).join(', ');
    await client.query(
      `insert into ${table} (${names}) select ${list.map(toValue).join(', ')} from generate_series(1, ${rows}) as n`,
    );
  }
  await client.query('vacuum analyze');
}
