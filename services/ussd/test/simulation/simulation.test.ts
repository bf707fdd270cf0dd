import { expect, it } from 'vitest';
import { simulate } from '../../../../packages/store/test/simulation/run.ts';

it('no schedule of the simulation repeats an effect, changes a reply, or loses money or a message', async () => {
  const said = await simulate('ussd', '--seeds', '100');
  expect(said).toContain('these did not: none');
  expect(said).toContain('No violation.');
});
