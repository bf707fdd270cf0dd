import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { appendInput, toNewParts, toParts } from './text-parts.ts';

const values = (text: string) => toParts(text).map((part) => part.value);

describe('the accumulated text', () => {
  test.each([
    ['', []],
    ['1', ['1']],
    ['1*2*3', ['1', '2', '3']],
    ['1*', ['1', '']],
    ['*', ['*']],
    ['1**', ['1', '*']],
    ['2*1*Ana**', ['2', '1', 'Ana', '*']],
    ['1**2', ['1', '', '2']],
    ['1***', ['1', '', '*']],
    ['*1', ['', '1']],
    ['2* Ana Maria ', ['2', 'Ana Maria']],
  ])('%j is the inputs %j', (text, inputs) => {
    expect(values(text)).toEqual(inputs);
  });

  test.each([
    ['1', '1*2', ['2']],
    ['', '2*1', ['2', '1']],
    ['', '', []],
    ['1', '1**', ['*']],
    ['1*', '1**', ['*']],
    ['1*', '1**2', ['2']],
    ['1*', '1***', ['*']],
    ['1', '12', undefined],
    ['1*', '1*5', undefined],
  ])('after %j, %j brings %j', (consumed, text, inputs) => {
    expect(toNewParts(text, consumed.length)?.map((part) => part.value)).toEqual(inputs);
  });

  test('inputs that came one by one stay what they are: empty ones, stars and all', () => {
    const input = fc.string({ unit: fc.constantFrom('0', '1', '*', 'a'), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(input, { minLength: 1, maxLength: 6 }), fc.nat(), (inputs, n) => {
        const text = inputs.reduce(appendInput, '');
        expect(toParts(text).map((part) => part.value)).toEqual(inputs);
        const seen = n % (inputs.length + 1);
        const consumed = inputs.slice(0, seen).reduce(appendInput, '');
        expect(toNewParts(text, consumed.length)?.map((part) => part.value)).toEqual(inputs.slice(seen));
      }),
    );
  });

  test('every part has the length of the text after it', () => {
    const input = fc.string({ unit: fc.constantFrom('0', '1', 'a', 'é'), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(input, { minLength: 1 }), fc.boolean(), (inputs, exits) => {
        const all = exits ? [...inputs, '*'] : inputs;
        const parts = toParts(all.join('*'));
        expect(parts.map((part) => part.value)).toEqual(all);
        for (const [i, part] of parts.entries()) {
          const consumed = all.slice(0, i + 1).join('*');
          expect(part.end).toBe(consumed.length);
          expect(toNewParts(all.join('*'), consumed.length)).toEqual(parts.slice(i + 1));
        }
      }),
    );
  });
});
