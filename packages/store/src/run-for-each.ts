import { CompiledQuery, type Transaction } from 'kysely';
import type { BindValue } from './bind-value.ts';

type Values = readonly BindValue[];

/** The only parameter of a statement that SQLite runs once for each of these rows. */
export class EachRow {
  readonly rows: readonly Values[];

  constructor(rows: readonly Values[]) {
    this.rows = rows;
  }
}

/**
 * Runs a statement once for each row, on SQLite, and gives how many rows of the database each run has changed. Kysely handles
 * them as one query, because a query costs it more than such a statement costs SQLite.
 */
export async function runForEach<DB>(
  trx: Transaction<DB>,
  statement: string,
  rows: readonly Values[],
): Promise<number[]> {
  if (rows.length === 0) return [];
  const result = await trx.executeQuery<number>(CompiledQuery.raw(statement, [new EachRow(rows)]));
  return result.rows;
}
