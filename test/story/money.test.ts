// The way of money from a phone to the chain and back, on the development node, with a service that is killed in between.
import { test } from 'vitest';
import { walkPageStory } from './page.ts';
import { walkPhoneStory } from './phone.ts';
import { startWorld } from './start-world.ts';

test('a page chats until 402, pays and is let in; the agent acts for its user under a delegation that is renewed in the middle', {
  timeout: 900_000,
}, async () => {
  await using world = await startWorld();
  await walkPageStory(world);
});

test('a report becomes a claim, its reward shows on the phone and is paid out; the books balance to the unit', {
  // Each kill leaves a lease that has to end.
  timeout: 900_000,
}, async () => {
  await using world = await startWorld();
  await walkPhoneStory(world);
});
