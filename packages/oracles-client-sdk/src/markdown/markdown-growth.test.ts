import { countSteps } from '@palaver/test-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBlocks, splitBlocks } from './parse-blocks.ts';

const steps = (text: string) => countSteps(() => void splitBlocks(text).map((piece) => parseBlocks(piece)));

const pieces = [
  ' ',
  '    ',
  '\n',
  '\n\n',
  '#',
  '# ',
  '> ',
  '- ',
  '1. ',
  '|',
  '-',
  ':',
  '*',
  '**',
  '_',
  '~~',
  '`',
  '```',
  '[',
  ']',
  '](',
  '![',
  ')',
  '<',
  'http://',
  'a',
  '*a',
  ' *',
  '\\',
];

test('twice the text is at most about twice the work, whatever it repeats', () => {
  const repeated = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  const text = fc.tuple(
    fc.constantFrom('', '# ', '- ', '> ', '|a|\n', ...pieces),
    repeated,
    fc.constantFrom('', 'x', ' x', '*', ' *', ']', ')', '](x)', '#'),
  );
  fc.assert(
    fc.property(text, ([start, middle, end]) => {
      const make = (length: number) => start + middle.repeat(Math.ceil(length / middle.length)) + end;
      const [once, twice] = [steps(make(16_000)), steps(make(32_000))];
      expect(twice).toBeLessThan(2.5 * once);
    }),
    { numRuns: 250 },
  );
});
