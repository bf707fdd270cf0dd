import { type Compilable, CompiledQuery, type Kysely, type QueryResult, type Transaction } from 'kysely';

/** Runs with these parameters, on `trx` when given. */
export type PreparedQuery<DB, P, R> = (params: P, trx?: Kysely<DB>) => Promise<QueryResult<R>>;

// `const find = store.prepare((db, p: { id: string }) => db.selectFrom('user').selectAll().where('id', '=', p.id))`.
// `p.id` stands for the value to come; it can go wherever Kysely takes a single value.
export type PrepareQuery<DB> = <P extends Record<string, BindValue>, R>(
  build: (db: Kysely<DB>, params: P) => Compilable<R>,
) => PreparedQuery<DB, P, R>;

class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

export function createPrepareQuery<DB>(
  db: Kysely<DB>,
  onPrepare: (query: CompiledQuery) => void = () => {},
): PrepareQuery<DB> {
  return <P extends Record<string, BindValue>, R>(build: (db: Kysely<DB>, params: P) => Compilable<R>) => {
    const placeholders = new Proxy({} as P, {
      get: (_, key) => new Placeholder(String(key)),
      // Only TypeScript knows its keys: `values(p)` would be an empty row.
      ownKeys() {
        throw new TypeError('name each parameter of a prepared query: values({ id: p.id }), not values(p)');
      },
    });
    const compiled = build(db, placeholders).compile();
    const slots = compiled.parameters;
    onPrepare(compiled);
    return (params, executor = db) => {
      const parameters = slots.map((slot) => (slot instanceof Placeholder ? params[slot.key] : slot));
      return executor.executeQuery<R>({ ...compiled, parameters });
    };
  };
}

type BindValue = string | number | bigint | boolean | Date | Uint8Array | null;

// What the engines would treat differently (undefined, NaN, objects) is refused, so that it fails in SQLite tests too.
export function bindValue(value: unknown): string | number | bigint | Uint8Array | null {
  switch (typeof value) {
    case 'string':
      // PostgreSQL stores no U+0000, and an id that has it is simply unknown.
      return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
    case 'bigint':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      break;
    case 'boolean':
      return value ? 1 : 0;
    case 'object':
      if (value === null || value instanceof Uint8Array) return value;
      if (value instanceof Date) return bindValue(value.getTime());
  }
  const kind = typeof value === 'object' ? 'an object (store JSON as text)' : String(value);
  throw new TypeError(`a query parameter cannot be ${kind}`);
}

type Values = readonly BindValue[];

/** The only parameter of a statement that SQLite runs once for each of these rows. */
export class EachRow {
  readonly rows: readonly Values[];

  constructor(rows: readonly Values[]) {
    this.rows = rows;
  }
}

/** SQLite: runs a statement once for each row and returns how many rows each run changed. As one query, because Kysely's overhead for a query exceeds SQLite's. */
export async function runForEach<DB>(trx: Transaction<DB>, statement: string, rows: readonly Values[]) {
  if (rows.length === 0) return [];
  return (await trx.executeQuery<number>(CompiledQuery.raw(statement, [new EachRow(rows)]))).rows;
}
