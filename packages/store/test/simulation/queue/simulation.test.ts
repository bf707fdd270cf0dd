import { expect, it } from 'vitest';
import { simulate } from '../run.ts';

it('no schedule of the simulation takes a row twice, loses it or holds it for ever', async () => {
  const said = await simulate('queue', '--seeds', '250');
  expect(said).toContain('these did not: none');
  expect(said).toContain('No violation.');
});
