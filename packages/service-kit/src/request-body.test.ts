import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isJsonTooDeep } from './request-body.ts';

const nest = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('counts arrays and objects inside each other', () => {
  expect(isJsonTooDeep(nest(100))).toBe(false);
  expect(isJsonTooDeep(nest(101))).toBe(true);
  expect(isJsonTooDeep(`[${Array(1000).fill('{"a":[]}').join(',')}]`)).toBe(false);
  expect(isJsonTooDeep(nest(1_000_000))).toBe(true);
});

test('brackets in texts do not count', () => {
  expect(isJsonTooDeep(JSON.stringify({ a: nest(500), [nest(500)]: '\\' }))).toBe(false);
  expect(isJsonTooDeep(`["\\"${nest(500)}"]`)).toBe(false);
});

test('agrees with the depth of the value it is read to', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 7 }), (value, max) => {
      expect(isJsonTooDeep(JSON.stringify(value), max)).toBe(depthOf(value) > max);
    }),
  );
});
