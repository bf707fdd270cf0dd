import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createFairQueue, createLimiter, type QueueOwner, runEvery } from './work.ts';

test('rounds follow each other, a row of faults is reported once, and stop waits for the last round', async () => {
  let atWork = 0;
  let rounds = 0;
  const onFault = vi.fn();
  const working = runEvery({
    everyMs: 1,
    async work() {
      atWork += 1;
      expect(atWork).toBe(1);
      await sleep(2);
      atWork -= 1;
      rounds += 1;
      if (rounds < 3) throw new Error('away');
      if (rounds === 4) throw new Error('away again');
    },
    onFault,
  });
  await vi.waitFor(() => expect(rounds).toBeGreaterThan(5), { timeout: 10_000 });
  await working.stop();
  const after = rounds;
  expect(atWork).toBe(0);
  await sleep(20);
  expect(rounds).toBe(after);
  expect(onFault.mock.calls.map(([error]) => error.message)).toEqual(['away', 'away again']);
});

test('a round can be called for, also while one runs', async () => {
  let rounds = 0;
  const working = runEvery({
    everyMs: 3_600_000,
    async work() {
      rounds += 1;
      if (rounds === 1) working.soon();
    },
    onFault: expect.fail,
  });
  working.soon();
  working.soon();
  await vi.waitFor(() => expect(rounds).toBe(2), { timeout: 10_000 });
  await sleep(20);
  await working.stop();
  expect(rounds).toBe(2);
});

test('a round may call the next one at once, and 0 leaves the work to others', async () => {
  let rounds = 0;
  const busy = runEvery({
    everyMs: 3_600_000,
    firstMs: 0,
    async work(setNext) {
      rounds += 1;
      if (rounds < 4) setNext(0);
    },
    onFault() {},
  });
  const never = runEvery({
    everyMs: 0,
    firstMs: 0,
    work: () => Promise.reject(new Error('worked')),
    onFault: expect.fail,
  });
  await vi.waitFor(() => expect(rounds).toBe(4), { timeout: 10_000 });
  await Promise.all([busy.stop(), never.stop()]);
});

test('whoever waits too long, or comes when enough wait, is refused; the others run in order', async () => {
  vi.useFakeTimers();
  const limit = createLimiter({ concurrency: 1, maxWaiting: 2, maxWaitMs: 3_000, toError: () => new Error('busy') });
  const ran: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = limit(() => held.promise);
  const late = limit(async () => ran.push('late'));
  const refused = expect(late).rejects.toThrow('busy');
  await vi.advanceTimersByTimeAsync(2_000);
  const next = limit(async () => ran.push('next'));
  await expect(limit(async () => ran.push('more'))).rejects.toThrow('busy');
  await vi.advanceTimersByTimeAsync(1_000);
  await refused;
  const last = limit(async () => ran.push('last'));
  held.resolve();
  await Promise.all([first, next, last]);
  expect(ran).toEqual(['next', 'last']);
  vi.useRealTimers();
});

test('after a task the next one waits as long, where tasks pause', async () => {
  vi.useFakeTimers();
  const limit = createLimiter({ concurrency: 1, maxWaiting: 2, pauses: true, toError: () => new Error('busy') });
  const ran: string[] = [];
  const first = limit(() => new Promise((resolve) => setTimeout(resolve, 100)));
  const next = limit(async () => ran.push('next'));
  await vi.advanceTimersByTimeAsync(100);
  await first;
  await vi.advanceTimersByTimeAsync(90);
  expect(ran).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  await next;
  expect(ran).toEqual(['next']);
  vi.useRealTimers();
});

test('costly work waits until all who connect have connected', async () => {
  const queue = createFairQueue({ atOnce: 1, waiting: 10, waitingPerUser: 10 });
  const begun = Promise.withResolvers<number>();
  let connected = 0;
  const server = createServer(() => {
    connected += 1;
    if (connected === 1) void queue.run({ userDid: 'ana' }, async () => begun.resolve(connected));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 40 }, () => connect(port, '127.0.0.1'));
  expect(await begun.promise).toBe(40);
  for (const socket of sockets) socket.destroy();
  await once(server.close(), 'close');
});

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
  /** Each starts in a turn of the event loop of its own, once nobody connects any more. */
  const start = async () => {
    for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
  };
  const endOne = async () => {
    await start();
    end();
    await start();
  };
  return { add, endOne, started, refused };
}

test('serves whoever was served the longest ago, by address and by user', async () => {
  const { add, endOne, started } = createWork(200);
  for (let round = 0; round < 8; round += 1)
    for (let at = 0; at < 5; at += 1) add(`crowd ${at}`, { userDid: `key ${round} ${at}`, client: `address ${at}` });
  for (let count = 0; count < 5; count += 1) await endOne();
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
