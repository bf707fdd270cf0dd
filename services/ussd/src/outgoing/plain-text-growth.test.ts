import { countSteps } from '@palaver/test-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toPlainText } from './plain-text.ts';

const steps = (text: string) => countSteps(() => toPlainText(text));

const pieces = [
  ' ',
  '\t',
  '\n',
  '\r',
  '#',
  '# ',
  '*',
  '**',
  '* ',
  '_',
  '__',
  '`',
  '```',
  '[',
  ']',
  '](',
  '[a](',
  '!',
  '(',
  ')',
  'a',
  '**a',
  'a*',
  '- ',
];

test('twice the text is at most about twice the work, whatever it repeats', () => {
  const repeated = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  const text = fc.tuple(fc.constantFrom('', ...pieces), repeated, fc.constantFrom('', 'x', ' x', '*', ' *', ']', ')'));
  fc.assert(
    fc.property(text, ([start, middle, end]) => {
      const make = (length: number) => start + middle.repeat(Math.ceil(length / middle.length)) + end;
      const [once, twice] = [steps(make(12_000)), steps(make(24_000))];
      expect(twice).toBeLessThan(2.5 * once);
    }),
    { numRuns: 300 },
  );
});

test('an answer of any length is cut before it is read', () => {
  const cost = steps(' '.repeat(60_000));
  expect(steps(' '.repeat(6_000_000))).toBeLessThanOrEqual(cost);
  expect(toPlainText('word '.repeat(100_000))).toMatch(/ word\.\.\.$/);
});
