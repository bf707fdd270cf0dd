import { randomUUID } from 'node:crypto';
import { createLogger } from '@palaver/service-kit';
import { testWithRedis } from '@palaver/test-kit';
import { Redis } from 'ioredis';
import { describe, expect, type TestAPI, test } from 'vitest';
import { createRedisPeers } from './redis-peers.ts';
import { createMemoryQueue, type QueuePlace, type SessionQueue } from './session-queue.ts';

const maxWaiting = 8;
const logger = createLogger({ name: 'test', level: 'silent' });

/** The same promises, kept by every implementation. */
function keepsItsPromises(it: TestAPI<{ queue: SessionQueue }>): void {
  const enter = async (queue: SessionQueue, session: string, run: string): Promise<QueuePlace> => {
    const place = await queue.enter(session, run);
    if (!place) throw new Error(`${run} was refused`);
    return place;
  };
  const hasTurn = (place: QueuePlace) =>
    Promise.race([
      place.turn.then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 100)),
    ]);

  it('who came first goes first, and leaving lets the next one go', async ({ queue }) => {
    const session = randomUUID();
    const one = await enter(queue, session, 'one');
    const two = await enter(queue, session, 'two');
    const three = await enter(queue, session, 'three');
    expect(await queue.list(session)).toEqual(['one', 'two', 'three']);
    expect([await hasTurn(one), await hasTurn(two), await hasTurn(three)]).toEqual([true, false, false]);
    await two.leave();
    await one.leave();
    expect(await hasTurn(three)).toBe(true);
    await three.leave();
    expect(await queue.list(session)).toEqual([]);
  });

  it('sessions do not wait for each other', async ({ queue }) => {
    const places = [await enter(queue, randomUUID(), 'a'), await enter(queue, randomUUID(), 'b')];
    expect(await Promise.all(places.map(hasTurn))).toEqual([true, true]);
    for (const place of places) await place.leave();
  });

  it('eight may wait behind the running one, the next is refused until one leaves', async ({ queue }) => {
    const session = randomUUID();
    const places = [];
    for (let index = 0; index <= maxWaiting; index += 1) places.push(await enter(queue, session, `run${index}`));
    expect(await queue.enter(session, 'late')).toBeUndefined();
    await places[3]?.leave();
    const late = await queue.enter(session, 'late');
    expect(late).toBeDefined();
    for (const place of [...places, late]) await place?.leave();
  });

  it('leaving twice lets nobody jump the queue', async ({ queue }) => {
    const session = randomUUID();
    const [one, two, three] = [
      await enter(queue, session, '1'),
      await enter(queue, session, '2'),
      await enter(queue, session, '3'),
    ];
    await one.leave();
    await one.leave();
    expect([await hasTurn(two), await hasTurn(three)]).toEqual([true, false]);
    await two.leave();
    await three.leave();
  });
}

describe('queue in memory', () => {
  keepsItsPromises(
    test.extend<{ queue: SessionQueue }>({ queue: async ({ task: _ }, use) => use(createMemoryQueue(maxWaiting)) }),
  );
});

describe('queue in Redis', () => {
  keepsItsPromises(
    testWithRedis.extend<{ queue: SessionQueue }>({
      queue: async ({ redisUrl }, use) => {
        const redis = new Redis(redisUrl);
        const peers = await createRedisPeers(redis, logger);
        await use(peers.queue);
        await peers.close();
        redis.disconnect();
      },
    }) as never,
  );

  testWithRedis('two instances keep one order, and the place of one that died is cleared', async ({ redisUrl }) => {
    const connections = [new Redis(redisUrl), new Redis(redisUrl)] as const;
    const one = await createRedisPeers(connections[0], logger);
    const two = await createRedisPeers(connections[1], logger);
    const session = randomUUID();
    await one.queue.enter(session, 'first');
    const second = await two.queue.enter(session, 'second');
    expect(await two.queue.list(session)).toEqual(['first', 'second']);
    await one.close(); // its heartbeat ends with it, its place stays behind
    await second?.turn;
    expect(await two.queue.list(session)).toEqual(['second']);
    await second?.leave();
    await two.close();
    for (const connection of connections) connection.disconnect();
  });
});
