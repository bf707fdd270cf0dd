export interface Row<T> {
  key: Buffer;
  value: T;
}

/** Rows in the order of their keys' bytes, which is the order in which a chain's store walks them. */
export interface Table<T> {
  rows: readonly Row<T>[];
  get(key: string): T | undefined;
}

export function createTable<T>(values: Iterable<T>, keyOf: (value: T) => string): Table<T> {
  const byKey = new Map([...values].map((value) => [keyOf(value), value]));
  const rows = [...byKey].map(([key, value]) => ({ key: Buffer.from(key), value }));
  rows.sort((a, b) => Buffer.compare(a.key, b.key));
  return { rows, get: (key) => byKey.get(key) };
}

export function emptyTable<T>(): Table<T> {
  return { rows: [], get: () => undefined };
}
