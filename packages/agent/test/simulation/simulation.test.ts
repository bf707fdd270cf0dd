import { expect, it } from 'vitest';
import { simulate } from '../../../store/test/simulation/run.ts';

it('no schedule of the simulation loses, doubles or hangs a run', async () => {
  const said = await simulate('runs', '--seeds', '2000', '--workers', '2');
  expect(said).toContain('these did not: none');
  expect(said).toContain('No violation.');
}, 900_000);

it('a seed is always the same schedule', async () => {
  const [first, second] = await Promise.all([simulate('runs', '--seed', '11'), simulate('runs', '--seed', '11')]);
  expect(first).toEqual(second);
  expect(first).toContain('complete of run 1');
});
