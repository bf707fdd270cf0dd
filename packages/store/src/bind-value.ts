/** What a query parameter may be; the same on both engines. */
export type BindValue = string | number | bigint | boolean | Date | Uint8Array | null;

/**
 * One meaning for every parameter on both engines: booleans are 0 and 1, times are epoch milliseconds, U+0000 is U+FFFD. What the engines
 * would treat differently (undefined, NaN, objects, arrays) is refused, so that it fails in the SQLite tests too.
 */
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
