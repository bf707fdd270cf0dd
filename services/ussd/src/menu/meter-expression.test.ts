import { expect, test } from 'vitest';
import { createExpressionBudget, takeRound } from './meter-expression.ts';

test('rounds that take long use up the time of a key press after a few', () => {
  const budget = createExpressionBudget();
  let rounds = 0;
  while (takeRound(budget)) {
    rounds += 1;
    for (const end = performance.now() + 100; performance.now() < end; );
  }
  expect(rounds).toBeGreaterThan(1);
  expect(rounds).toBeLessThan(30);
});
