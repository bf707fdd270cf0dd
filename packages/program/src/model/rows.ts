import type { ValueType } from '../values/value-types.ts';

export type Row = Readonly<Record<string, string>>;

/** A CSV or JSON file of a program as rows, with the type of each column. */
export interface DataFile {
  rows: readonly Row[];
  columns: ReadonlyMap<string, ValueType>;
}

/** Records of any list; `undefined` if it is not a list. A plain item is a record with the field `value`. */
export function toRows(value: unknown): Row[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((item) => {
    const fields = typeof item === 'object' && item !== null ? item : { value: item };
    return Object.fromEntries(
      Object.entries(fields).map(([name, cell]) => [
        name,
        typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : String(cell ?? ''),
      ]),
    );
  });
}
