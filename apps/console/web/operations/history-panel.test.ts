import { expect, test } from 'vitest';
import { toPath, toRound } from './history-panel.tsx';

test('the scale ends at a round number above the largest value', () => {
  expect([0, 0.003, 1, 1.2, 4, 7, 10, 11].map(toRound)).toEqual([1, 0.005, 1, 2, 5, 10, 10, 20]);
});

test('a line fills the width and breaks where nothing was measured', () => {
  expect(toPath([0, 5, undefined, 10], 10)).toBe('M0.0 100.0h0L100.0 50.0M300.0 0.0h0');
  expect(toPath([10], 10)).toBe('M300.0 0.0h0');
  expect(toPath([], 10)).toBe('');
});
