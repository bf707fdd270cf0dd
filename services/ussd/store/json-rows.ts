import type { Engine } from '@palaver/store';
import { type RawBuilder, sql } from 'kysely';

export type ColumnType = 'text' | 'bigint' | 'integer';

/**
 * Many rows as one JSON parameter: `select … from` this. One statement text for any number of rows, and one value to bind,
 * which is what makes group commit cheap on both engines.
 */
export function selectJsonRows(
  engine: Engine,
  columns: Record<string, ColumnType>,
  json: unknown,
): RawBuilder<unknown> {
  const names = Object.keys(columns);
  if (engine === 'postgres') {
    const defined = Object.entries(columns).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`);
    return sql`select ${sql.join(names.map((name) => sql.ref(name)))} from json_to_recordset(${json}::json) as row(${sql.join(defined)})`;
  }
  const fields = names.map((name) => sql`value ->> ${sql.lit(`$.${name}`)}`);
  return sql`select ${sql.join(fields)} from json_each(${json}) where true`;
}

/** The texts of a JSON array parameter as a one-column query, for `where x in (…)`. */
export function selectJsonTexts(engine: Engine, json: unknown): RawBuilder<unknown> {
  return engine === 'postgres'
    ? sql`select json_array_elements_text(${json}::json)`
    : sql`select value from json_each(${json})`;
}
