import { expect, it } from 'vitest';
import { simulate } from '../run.ts';

it('no schedule of the simulation takes a row twice, loses it or holds it for ever', async () => {
  expect(await simulate('queue', '--seeds', '500')).toContain('No violation.');
});
