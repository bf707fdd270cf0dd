import { expect, test } from 'vitest';
import { createExpressionBudget, pauseBudget, takeRound } from './meter-expression.ts';

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
