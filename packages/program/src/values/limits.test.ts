import { describe, expect, test } from 'vitest';
import { load, play } from '../../test/play-program.ts';
import { createExpressionBudget, pauseBudget, takeRound } from './limits.ts';

const texts = "home: Home\ngo: Go\ndone: '{a} {b} {n}'\nbye: Bye\n";

/** States of kind `set`, one after the other, and a page that shows a, b and n. */
function compute(...steps: Record<string, string>[]): string {
  const set = steps.map((values, i) => {
    const to = i + 1 < steps.length ? `s${i + 1}` : 'done';
    return `  s${i}: { kind: set, values: ${JSON.stringify(values)}, to: ${to} }`;
  });
  const states = `
  home: { kind: menu, text: home, options: [{ text: go, to: given }] }
  given: { kind: set, values: { a: "''", b: "''", n: "''", v: "'aaaaaaaaaa'" }, to: s0 }
${set.join('\n')}
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`;
  return play(load(states, texts), ['1']).split('\n')[0] ?? '';
}

const times = <Item>(count: number, item: (i: number) => Item) => Array.from({ length: count }, (_, i) => item(i));
const nested = (levels: number, inner: string) => `[0]${`.map(x, ${inner})`.repeat(levels)}`;

describe('what a program computes has a limited length', () => {
  test('a text that doubles', () => {
    const doubled = times(11, () => ({ v: 'v + v' }));
    expect(compute(...doubled.slice(0, 10), { n: 'size(v)' })).toBe('  10240');
    expect(compute(...doubled, { n: 'size(v)', a: 'v == ""' })).toBe('true  0');
    expect(compute(...times(40, () => ({ v: 'v + v + "a"' })), { n: 'size(v) < 20000' })).toBe('  true');
  });

  test.each([
    ['texts', nested(25, '"a" + string(x) + string(x)')],
    ['lists', nested(40, '[x, x]')],
    ['joined lists', `[[0]]${'.map(x, x + x)'.repeat(40)}`],
    ['records', nested(30, '{"a": x, "b": x}')],
    ['bytes', `[b"aa"]${'.map(x, x + x)'.repeat(40)}`],
  ])('%s that double inside one expression', (_, expression) => {
    expect(compute({ a: expression, b: `size(${expression})`, n: `${expression}.map(x, x == x)` })).toBe('  ');
  });

  test('a list of long texts', () => {
    const list = `[${times(150, (i) => i).join(',')}]`;
    const doubled = times(10, () => ({ v: 'v + v' }));
    expect(compute(...doubled, { l: list }, { n: 'size(l.map(x, v + string(x)))', a: 'size(l)' })).toBe('150  ');
  });

  test('all values together', () => {
    const doubled = times(10, () => ({ v: 'v + v' }));
    const copies = times(40, (i) => ({ [`w${i}`]: 'v + "b"' }));
    const sum = copies.map((_, i) => `size(w${i})`).join(' + ');
    expect(compute(...doubled, ...copies, { n: sum, a: 'size(w0)', b: 'size(w39)' })).toBe('10241 0 184338');
  });
});

/** Uses up processor time: on a busy machine the clock on the wall says little. */
function work(microseconds: number): void {
  const start = process.threadCpuUsage();
  for (let spent = start; spent.user + spent.system - start.user - start.system < microseconds; )
    spent = process.threadCpuUsage();
}

test.each([
  ['of one expression', () => {}],
  ['of many expressions', pauseBudget],
])('rounds %s that take long use up the time of a key press after a few', (_, afterRound) => {
  const budget = createExpressionBudget();
  let rounds = 0;
  while (takeRound(budget)) {
    rounds += 1;
    work(100_000);
    afterRound(budget);
  }
  expect(rounds).toBeGreaterThan(1);
  expect(rounds).toBeLessThan(10);
});
