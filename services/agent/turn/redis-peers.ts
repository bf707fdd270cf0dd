import { randomUUID } from 'node:crypto';
import { AppError, agentLimits } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Redis } from 'ioredis';
import { createFrameLog, type FrameLog } from './frame-log.ts';
import type { PeerMessage, Peers } from './peers.ts';
import { createRedisPages } from './redis-pages.ts';
import { createRedisQueue } from './redis-queue.ts';

const prefix = 'palaver:agent:';
const channel = `${prefix}told`;
const heartbeatMs = 2_000;
const heartbeatLifeMs = 3 * heartbeatMs;
const pollMs = 50;
const liveFramesMs = 24 * 3_600_000;

/** Instances joined by one Redis: a queue per session, frames in streams, messages by pub/sub, a heartbeat each. */
export async function createRedisPeers(redis: Redis, logger: Logger): Promise<Peers> {
  const instance = randomUUID();
  const aliveKey = (name: string) => `${prefix}instance:${name}`;
  const framesKey = (runId: string) => `${prefix}frames:${runId}`;
  const quiet = (error: unknown) => logger.warn({ err: error }, 'Redis did not take a message');
  const isAlive = async (name: string) => name === instance || (await redis.exists(aliveKey(name))) === 1;

  const beat = () => redis.set(aliveKey(instance), '1', 'PX', heartbeatLifeMs).catch(quiet);
  await beat();
  const heartbeat = setInterval(beat, heartbeatMs);

  const subscriber = redis.duplicate({ lazyConnect: true, enableOfflineQueue: true, maxRetriesPerRequest: null });
  subscriber.on('error', quiet);
  const handlers = new Set<(message: PeerMessage) => void>();
  const queue = createRedisQueue({ redis, prefix, instance, isAlive, maxWaiting: agentLimits.queuedTurnsPerSession });
  subscriber.on('message', (from, text) => {
    if (from === queue.channel) queue.wake(text);
    else for (const handle of handlers) handle(JSON.parse(text) as PeerMessage);
  });
  await subscriber.connect();
  await subscriber.subscribe(channel, queue.channel);

  async function feed(frames: FrameLog, runId: string): Promise<void> {
    let last = '-';
    while (!frames.ended) {
      const entries = await redis.xrange(framesKey(runId), last, '+', 'COUNT', 1000);
      for (const [id, [, text]] of entries as [string, [string, string]][]) {
        last = `(${id}`;
        if (text === '') frames.end();
        else frames.appendText(text);
      }
      if (entries.length === 0) {
        // The stream ran out, or the instance that wrote it is gone and a survivor removed it.
        if ((await redis.exists(framesKey(runId))) === 0) frames.end();
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    }
  }

  return {
    instance,
    queue: toAvailable(queue),
    pages: createRedisPages({ redis, prefix, instance, isAlive }),
    isAlive,
    tell: (message) => void redis.publish(channel, JSON.stringify(message)).catch(quiet),
    onTold: (handler) => void handlers.add(handler),
    publishFrame(runId, frame) {
      const key = framesKey(runId);
      const life = frame === undefined ? 2 * agentLimits.endedRunRetentionMs : liveFramesMs;
      redis.xadd(key, '*', 'f', frame ?? '').catch(quiet);
      // Once at the start and once at the end is enough: a run does not live for a day.
      if (frame === undefined || frame.startsWith('event: run\n')) redis.pexpire(key, life).catch(quiet);
    },
    async followRun(runId) {
      if ((await redis.exists(framesKey(runId))) === 0) return undefined;
      const frames = createFrameLog();
      feed(frames, runId).catch((error) => {
        quiet(error);
        frames.end();
      });
      return frames;
    },
    async forgetRun(runId) {
      await redis.del(framesKey(runId));
    },
    async close() {
      clearInterval(heartbeat);
      await redis.del(aliveKey(instance)).catch(quiet);
      queue.close();
      subscriber.disconnect();
    },
  };
}

/** While Redis is away no order can be kept between instances, so nothing is taken in. */
function toAvailable<Q extends Peers['queue']>(queue: Q): Peers['queue'] {
  const guard = <T>(promise: Promise<T>): Promise<T> =>
    promise.catch((error) => {
      throw new AppError('UNAVAILABLE', 'The service cannot take messages right now. Please try again shortly.', {
        cause: error,
      });
    });
  return {
    enter: (sessionId, runId) => guard(queue.enter(sessionId, runId)),
    list: (sessionId) => guard(queue.list(sessionId)),
  };
}
