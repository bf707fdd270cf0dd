import { expect, test } from 'vitest';
import { createFairQueue, type QueueOwner } from './fair-queue.ts';

/** A queue of one place, and its work, which ends by `endOne`. */
function createWork(waiting: number) {
  const queue = createFairQueue({ atOnce: 1, waiting, waitingPerUser: waiting });
  const started: string[] = [];
  const refused: string[] = [];
  let end = () => {};
  const add = (name: string, owner: QueueOwner) => {
    const work = () => {
      started.push(name);
      return new Promise<true>((resolve) => {
        end = () => resolve(true);
      });
    };
    void queue.run(owner, work).then((done) => done ?? refused.push(name));
  };
  const endOne = async () => {
    end();
    // The next one starts in a turn of the event loop of its own.
    for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
  };
  return { add, endOne, started, refused };
}

test('serves whoever was served the longest ago, by address and by user', async () => {
  const { add, endOne, started } = createWork(200);
  for (let round = 0; round < 8; round += 1)
    for (let at = 0; at < 5; at += 1) add(`crowd ${at}`, { userDid: `key ${round} ${at}`, client: `address ${at}` });
  for (let count = 0; count < 6; count += 1) await endOne();
  add('newcomer', { userDid: 'ana', client: 'elsewhere' });
  add('same key', { userDid: 'key 0 0', client: 'unknown' });
  await endOne();
  expect(started.at(-1)).toBe('newcomer');
  // Its key was served before all of the second round.
  await endOne();
  expect(started.at(-1)).toBe('same key');
  await endOne();
  expect(started.at(-1)).toBe('crowd 1');
});

test('lets a newcomer wait in place of the newest of whoever has most waiting', async () => {
  const { add, endOne, started, refused } = createWork(4);
  add('first', { userDid: 'eve', client: 'a' });
  for (const name of ['one', 'two', 'three']) add(name, { userDid: name, client: 'a' });
  add('other', { userDid: 'ben', client: 'b' });
  add('four', { userDid: 'four', client: 'a' });
  await new Promise(setImmediate);
  expect(refused).toEqual(['four']);
  add('newcomer', { userDid: 'ana', client: 'c' });
  await new Promise(setImmediate);
  expect(refused).toEqual(['four', 'three']);
  for (let count = 0; count < 4; count += 1) await endOne();
  expect(started).toEqual(['first', 'other', 'newcomer', 'one', 'two']);
});

test('between work that waits for nothing other events are served', async () => {
  const queue = createFairQueue({ atOnce: 1, waiting: 100, waitingPerUser: 100 });
  const order: string[] = [];
  const work = Array.from({ length: 5 }, (_, index) =>
    queue.run({ userDid: `did:${index}` }, async () => {
      setImmediate(() => order.push('event'));
      order.push('work');
    }),
  );
  await Promise.all(work);
  expect(order.slice(0, 8)).toEqual(Array(4).fill(['work', 'event']).flat());
});
