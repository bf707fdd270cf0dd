import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTable } from '../world/world.ts';
import { type PageRequest, paginate } from './query.ts';

const tableOf = (keys: string[]) => createTable(keys, (key) => key);
const request = (fields: Partial<PageRequest> = {}): PageRequest => ({
  key: new Uint8Array(),
  offset: 0n,
  limit: 0n,
  countTotal: false,
  reverse: false,
  ...fields,
});
const page = (keys: string[], fields?: Partial<PageRequest>) => {
  const result = paginate(tableOf(keys).rows, fields && request(fields));
  if (!result.ok) return result.message;
  const { nextKey, total } = result.pagination;
  return [result.values.join(''), Buffer.from(nextKey).toString(), Number(total)];
};
const key = (text: string) => Buffer.from(text);
const abcde = ['c', 'a', 'e', 'b', 'd'];

test.each<[string, Partial<PageRequest> | undefined, unknown]>([
  ['no request is everything, counted', undefined, ['abcde', '', 5]],
  ['limit 0 counts unasked', { limit: 0n }, ['abcde', '', 5]],
  ['a limit does not count unasked', { limit: 2n }, ['ab', 'c', 0]],
  ['a limit counts when asked', { limit: 2n, countTotal: true }, ['ab', 'c', 5]],
  ['the last page has no next key', { limit: 2n, offset: 3n }, ['de', '', 0]],
  ['offset past the end is an empty page', { offset: 9n, limit: 1n, countTotal: true }, ['', '', 5]],
  ['numbers as large as they come', { offset: 1n, limit: 2n ** 64n - 1n }, ['bcde', '', 0]],
  ['a key continues at itself', { key: key('c'), limit: 2n }, ['cd', 'e', 0]],
  ['a key never counts', { key: key('c'), limit: 0n, countTotal: true }, ['cde', '', 0]],
  ['a key that is gone continues at the next', { key: key('bb'), limit: 1n }, ['c', 'd', 0]],
  ['a key past the end is an empty page', { key: key('z') }, ['', '', 0]],
  ['reverse begins at the end', { reverse: true, limit: 2n }, ['ed', 'c', 0]],
  ['reverse continues at its key', { reverse: true, key: key('c'), limit: 2n }, ['cb', 'a', 0]],
  ['reverse with a key that is gone', { reverse: true, key: key('bb'), limit: 2n }, ['cb', 'a', 0]],
  ['reverse past the end begins at the end', { reverse: true, key: key('z'), limit: 2n }, ['ed', 'c', 0]],
  ['reverse with an offset', { reverse: true, offset: 4n }, ['a', '', 5]],
  [
    'key and offset exclude each other',
    { key: key('a'), offset: 1n },
    'invalid request, either offset or key is expected, got both',
  ],
])('%s', (_, fields, expected) => {
  expect(page(abcde, fields)).toEqual(expected);
});

test('without a limit a page holds 100', () => {
  const keys = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, '0'));
  expect(page(keys)).toEqual([keys.slice(0, 100).join(''), '100', 150]);
});

test('pages by offset and by key are slices of the whole list, forth and back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      (keys, size, reverse) => {
        const ascending = keys.toSorted((a, b) => Buffer.compare(key(a), key(b)));
        const expected = reverse ? ascending.toReversed() : ascending;
        const rows = tableOf(keys).rows;
        const limit = BigInt(size);
        const byKey: string[] = [];
        let next: Uint8Array = new Uint8Array();
        for (let offset = 0; ; offset += size) {
          const slice = expected.slice(offset, offset + size);
          const counted = paginate(rows, request({ offset: BigInt(offset), limit, reverse, countTotal: true }));
          const keyed = paginate(rows, request({ key: next, limit, reverse }));
          if (!counted.ok || !keyed.ok) throw new Error('refused');
          expect(counted.values).toEqual(slice);
          expect(counted.pagination.total).toBe(BigInt(keys.length));
          expect(Buffer.from(counted.pagination.nextKey).toString()).toBe(expected[offset + size] ?? '');
          byKey.push(...keyed.values);
          next = keyed.pagination.nextKey;
          if (next.length === 0) break;
        }
        expect(byKey).toEqual(expected);
      },
    ),
  );
});
