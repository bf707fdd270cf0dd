// The way of money from a phone and from a page to the chain and back, on one development node, with services that are killed
// in between.
import { afterAll, beforeAll, test } from 'vitest';
import { walkPageStory } from './page.ts';
import { walkPhoneStory } from './phone.ts';
import { startWorld, type World } from './start-world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

// Each starts its service many times.
const limit = { timeout: 900_000 };

test.concurrent(
  'a page chats until 402, pays and is let in; the agent acts for its user under a delegation that is renewed in the middle',
  limit,
  () => walkPageStory(world),
);

test.concurrent(
  'a report becomes a claim, its reward shows on the phone and is paid out; the books balance to the unit',
  limit,
  () => walkPhoneStory(world),
);
