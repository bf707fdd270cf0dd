export interface Row<T> {
  key: Buffer;
  value: T;
}

/** Rows in the order of their keys' bytes, which is the order in which a chain's store walks them. */
export interface Table<T> {
  rows: readonly Row<T>[];
  get(key: string): T | undefined;
}

export interface ChangingTable<T> extends Table<T> {
  /** Puts a value in place of the one with its key; `undefined` removes that. */
  set(key: string, value: T | undefined): void;
}

export function createTable<T>(values: Iterable<T>, keyOf: (value: T) => string): ChangingTable<T> {
  const byKey = new Map([...values].map((value) => [keyOf(value), value]));
  const rows = [...byKey].map(([key, value]) => ({ key: Buffer.from(key), value }));
  rows.sort((a, b) => Buffer.compare(a.key, b.key));
  return {
    rows,
    get: (key) => byKey.get(key),
    set(key, value) {
      const row = { key: Buffer.from(key), value: value as T };
      const index = findPlace(rows, row.key);
      rows.splice(index, byKey.has(key) ? 1 : 0, ...(value === undefined ? [] : [row]));
      if (value === undefined) byKey.delete(key);
      else byKey.set(key, value);
    },
  };
}

export function emptyTable<T>(): Table<T> {
  return { rows: [], get: () => undefined };
}

/** The index of the first row whose key is not below `key`. */
function findPlace(rows: readonly Row<unknown>[], key: Buffer): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare((rows[middle] as Row<unknown>).key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
