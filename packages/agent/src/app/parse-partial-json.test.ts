import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePartialJson } from './parse-partial-json.ts';

test.each([
  ['', undefined],
  ['{', {}],
  ['{"a', {}],
  ['{"a":', {}],
  ['{"a":"b', { a: 'b' }],
  ['{"a":"b\\', { a: 'b' }],
  ['{"a":"b\\u00', { a: 'b' }],
  ['{"a":"b\\"', { a: 'b"' }],
  ['{"a":12', {}],
  ['{"a":12,', { a: 12 }],
  ['{"a":[1,2', { a: [1] }],
  ['{"a":[{"b":"c', { a: [{ b: 'c' }] }],
  ['{"a":tru', {}],
  ['{"a":true}', { a: true }],
  ['[{"a":1},', [{ a: 1 }]],
  ['no JSON', undefined],
])('%s', (text, value) => {
  expect(parsePartialJson(text)).toEqual(value);
});

test('what is nested too deep has no value', () => {
  expect(parsePartialJson('['.repeat(64))).toBeDefined();
  expect(parsePartialJson('['.repeat(50_000))).toBeUndefined();
});

test('every beginning of an object has a value, and the whole is the object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value);
      for (let end = 1; end < text.length; end += 1) expect(parsePartialJson(text.slice(0, end))).toBeTypeOf('object');
      expect(parsePartialJson(text)).toEqual(JSON.parse(text));
    }),
  );
});
