import { expect, test } from 'vitest';
import { load, play } from '../../test/play-program.ts';
import { compileExpression } from './expressions.ts';
import { createExpressionBudget } from './limits.ts';

const list = `[${Array.from({ length: 100 }, (_, i) => i).join(', ')}]`;
const count = 'size(l.filter(x, l.exists(y, x == 1000)))';

/** A program whose first key leads through that many loops of 10,000 rounds. */
function withLoops(loops: number) {
  const states = Array.from({ length: loops }, (_, i) => {
    const to = i + 1 < loops ? `s${i + 1}` : 'done';
    return `  s${i}: { kind: set, values: { n: "${count}" }, to: ${to} }`;
  });
  return load(
    `
  home: { kind: menu, text: home, options: [{ text: go, to: s }] }
  s: { kind: set, values: { l: "${list}" }, to: s0 }
${states.join('\n')}
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`,
    "home: Home\ngo: Go\ndone: 'Found {n}'\nbye: Bye\n",
  );
}

test('the loops of all states that a key leads through have one budget', () => {
  expect(play(withLoops(1), ['1'])).toMatch(/^Found 0/);
  expect(() => play(withLoops(12), ['1'])).toThrow(/the expression size.* takes too long/);
});

/** A program whose first key doubles a value ten times on the way to its state `next`. */
function withDoubled(value: string, states: string, data?: Record<string, string>, done = 'Done') {
  const doubled = Array.from({ length: 10 }, (_, i) => `v${i + 1}: "v${i} + v${i}"`).join(', ');
  return load(
    `
  home: { kind: menu, text: home, options: [{ text: go, to: s }] }
  s: { kind: set, values: { v0: "${value}", ${doubled} }, to: next }
${states}
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`,
    `home: Home\ngo: Go\ndone: '${done}'\nbye: Bye\n`,
    data,
  );
}

test('patterns over long texts use up the same budget, without any loop', () => {
  // A boundary of words makes the matcher slow.
  const slow = String.raw`v4.matches(r'^(?:[abc]{1,100}\\b?[abc]){1,6}[x-z]$')`;
  const program = (count: number) => {
    const values = Array.from({ length: count }, (_, i) => `m${i}: "${slow}"`).join(', ');
    return withDoubled("'baaaaaaaaaaaaac'", `  next: { kind: set, values: { ${values} }, to: done }`);
  };
  expect(play(program(1), ['1'])).toMatch(/^Done/);
  expect(() => play(program(1_000), ['1'])).toThrow(/takes too long/);
});

test.each([
  ['many repeats', `'^${'(.{0,999})'.repeat(10)}[xyz]$'`, 'v7'],
  ['a repeated choice', `'(${'a|b'.repeat(100)}){1000}'`, 'v1'],
  ['a short pattern over a long text', "'^(.{0,99}){5}[xyz]$'", 'v10'],
  ['letters of either case from a long range', "'(?i)[^--\u{10fff0}]'", 'v1'],
  ['one that the program computes', "'(.{0,9' + '99})(.{0,999})(.{0,999})(.{0,999})'", 'v7'],
])('a pattern that is too much for a key press is not tried: %s', (_, pattern, text) => {
  const next = `  next: { kind: set, values: { m: "${text}.matches(${pattern})" }, to: done }`;
  expect(() => play(withDoubled("'abcdefghijkl'", next), ['1'])).toThrow(/takes too long/);
});

test('a pattern that is made while it is used is as short as one of a question', () => {
  const next = `  next: { kind: set, values: { short: "'xyx'.matches(v4)", long: "'xyx'.matches(v10)" }, to: done }`;
  expect(play(withDoubled("'(x|y)?'", next, {}, '{short}, {long}'), ['1'])).toMatch(/^true, \n/);
});

test('the rows of a list use up the same budget', () => {
  const list = (where: string) =>
    `  next: { kind: menu, text: home, from: { csv: data/a.csv, text: name, where: "${where}" }, to: done }`;
  const rows = { 'data/a.csv': `name,n\n${Array.from({ length: 4_900 }, (_, i) => `Row ${i},${i}\n`).join('')}` };
  expect(play(withDoubled('[1, 2]', list('row.n > 4800'), rows), ['1'])).toContain('1. Row 4801');
  const long = Array.from({ length: 50 }, () => 'row.name in v10').join(' || ');
  expect(() => play(withDoubled('[1, 2]', list(long), rows), ['1'])).toThrow(/takes too long/);
});

test('sums ask the same budget, without any loop', () => {
  const sums = compileExpression('sum(l) + sum(l) > 0.0', new Map([['l', 'list']]));
  const values = { l: Array.from({ length: 10_000 }, (_, i) => i) };
  expect(() => sums.run(values, { ...createExpressionBudget(), microseconds: 0 })).toThrow(/takes too long/);
});
