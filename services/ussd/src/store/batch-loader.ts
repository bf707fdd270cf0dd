import { sql } from 'kysely';
import type { UssdStore, UssdTables } from './tables.ts';

/** Loads rows by key; what is asked for in one tick of the event loop is one query. */
export function createBatchLoader<Row>(
  store: UssdStore,
  table: keyof UssdTables,
  key: string,
): (value: string) => Promise<Row | undefined> {
  const select = store.prepare((db, { keys }: { keys: string }) => {
    // One JSON parameter: the statement's text, and with it its plan, stays the same for any number of keys. Of an array
    // PostgreSQL expects a few keys and looks each up; of a subquery it expects a hundred and may read a whole table.
    const wanted =
      store.engine === 'postgres'
        ? sql`= any(array(select json_array_elements_text(${keys}::json)))`
        : sql`in (select value from json_each(${keys}))`;
    const statement = sql<Record<string, unknown>>`select * from ${sql.table(table)} where ${sql.ref(key)} ${wanted}`;
    return { compile: () => statement.compile(db) };
  });
  let waiting = new Map<string, PromiseWithResolvers<Row | undefined>>();

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = new Map();
    try {
      const { rows } = await select({ keys: JSON.stringify([...batch.keys()]) });
      const found = new Map(rows.map((row) => [row[key] as string, row as Row]));
      for (const [value, { resolve }] of batch) resolve(found.get(value));
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
  }

  return (value) => {
    if (waiting.size === 0) setImmediate(flush);
    const asked = waiting.get(value) ?? Promise.withResolvers<Row | undefined>();
    waiting.set(value, asked);
    return asked.promise;
  };
}
