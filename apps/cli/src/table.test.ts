import { expect, test } from 'vitest';
import { toTable } from './table.ts';

test('cells of somebody else cannot steer the terminal nor end their line', () => {
  const table = toTable(['Path', 'Method'], [['/a\u001b[2J\n/b', '\u009b31mGet\u202e']]);
  expect(table.split('\n')).toHaveLength(3);
  expect(table).not.toMatch(/[^\P{C}\n]/u);
  expect(table).toContain('/a\\u001b[2J\\u000a/b');
});
