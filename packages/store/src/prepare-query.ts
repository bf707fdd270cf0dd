import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely';
import type { BindValue } from './bind-value.ts';

/**
 * Runs with these parameters, on `trx` when given.
 *
 * @example
 * ```ts
 * import type { PreparedQuery, Store } from '@palaver/store';
 *
 * type Tables = { goat: { id: string } };
 * export const findGoat = (store: Store<Tables>): PreparedQuery<Tables, { id: string }, { id: string }> =>
 *   store.prepare((db, goat: { id: string }) => db.selectFrom('goat').select('id').where('id', '=', goat.id));
 * ```
 */
export type PreparedQuery<DB, P, R> = (params: P, trx?: Kysely<DB>) => Promise<QueryResult<R>>;

/**
 * `const find = store.prepare((db, p: { id: string }) => db.selectFrom('user').selectAll().where('id', '=', p.id))`.
 * `p.id` stands for the value to come; it can go wherever Kysely takes a single value.
 */
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
      // Its keys are known to TypeScript alone: `values(p)` would be an empty row.
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
