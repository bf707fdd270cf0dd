import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import pg from 'pg';

const explainable = /^\s*(select|with|insert|update|delete)\b/i;

/** Statements and the values that they ran with first. SQLite plans without values. */
type Statements = Map<string, unknown[]>;

/** Keeps all statements of this process, those for SQLite's reader threads included, until it is disposed. */
export function recordStatements() {
  const statements: Statements = new Map();
  const note = (text: unknown, values: unknown = []) => {
    if (typeof text !== 'string' || !explainable.test(text) || statements.has(text)) return;
    statements.set(text, Array.isArray(values) ? values : []);
  };
  const hooks = [
    hook(DatabaseSync.prototype, 'prepare', ([text]) => note(text)),
    hook(Worker.prototype, 'postMessage', ([message]) => note((message as { sql?: unknown } | null)?.sql)),
    hook(pg.Client.prototype, 'query', ([query, values]) => {
      if (typeof query === 'string') return note(query, values);
      const config = query as { text?: unknown; values?: unknown } | null;
      note(config?.text, config?.values);
    }),
  ];
  return {
    statements,
    [Symbol.dispose]() {
      for (const restore of hooks) restore();
    },
  };
}

function hook<Key extends string>(
  prototype: Record<Key, unknown>,
  name: Key,
  before: (args: unknown[]) => void,
): () => void {
  const original = prototype[name] as (...args: unknown[]) => unknown;
  prototype[name] = function (this: unknown, ...args: unknown[]) {
    before(args);
    return original.apply(this, args);
  };
  return () => {
    prototype[name] = original;
  };
}

interface Scan {
  table: string;
  statement: string;
}

/** The statements that read a table, or an index of it, from end to end. */
export async function listScans(url: string, statements: Statements): Promise<Scan[]> {
  return url.startsWith('file:')
    ? listInSqlite(url.slice('file:'.length), statements)
    : listInPostgres(url, statements);
}

function listInSqlite(path: string, statements: Statements): Scan[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const tables = new Set(
    database
      .prepare(`select name from sqlite_schema where type = 'table'`)
      .all()
      .map(({ name }) => String(name)),
  );
  const scans = [...statements.keys()].flatMap((statement) => {
    const rows = database.prepare(`explain query plan ${statement}`).all() as { detail: string }[];
    return rows.flatMap(({ detail }) => {
      const [, name, isIndex] = /^SCAN (\w+)( USING)?(?!.* VIRTUAL TABLE)/.exec(detail) ?? [];
      if (name === undefined) return [];
      const table = tables.has(name) ? name : aliasOf(statement, name, tables);
      // In the order of an index, a statement with a limit stops when it has enough.
      return table && !(isIndex && /\blimit\b/i.test(statement)) ? [{ table, statement }] : [];
    });
  });
  database.close();
  return scans;
}

function aliasOf(statement: string, alias: string, tables: Set<string>): string | undefined {
  const [, table = ''] = new RegExp(`"?(\\w+)"? as "?${alias}"?(?!\\w)`, 'i').exec(statement) ?? [];
  return tables.has(table) ? table : undefined;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
}

async function listInPostgres(url: string, statements: Statements): Promise<Scan[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Such an index holds only the few rows that are open, whatever the size of its table.
  const { rows: few } = await client.query<{ relname: string }>(
    `select relname from pg_index join pg_class on oid = indexrelid where indpred is not null and reltuples <= 100`,
  );
  const small = new Set(few.map(({ relname }) => relname));
  const scans: Scan[] = [];
  for (const [statement, values] of statements) {
    const { rows } = await client.query(`explain (format json) ${statement}`, values);
    for (const table of listWhole(rows[0]['QUERY PLAN'][0].Plan, small)) scans.push({ table, statement });
  }
  await client.end();
  return scans;
}

function listWhole(plan: Plan, small: ReadonlySet<string>, isLimited = false): string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Cond': condition, Filter, Plans = [] } = plan;
  const isBounded = (isLimited && type !== 'Seq Scan' && !Filter) || small.has(plan['Index Name'] ?? '');
  const isWhole = table && /^(Seq|Index|Index Only) Scan$/.test(type) && !condition && !isBounded;
  const limits = type === 'Limit' || (isLimited && /^(Result|LockRows|Subquery Scan|Incremental Sort)$/.test(type));
  return [...(isWhole ? [table] : []), ...Plans.flatMap((child) => listWhole(child, small, limits))];
}
