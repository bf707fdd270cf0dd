import type { Redis } from 'ioredis';
import { askRedis } from './redis.ts';

export interface MinuteCount {
  /** This time included. */
  count: number;
  /** How long the minute still lasts. */
  leftMs: number;
}

/** Counts one use of a key; `undefined` while it cannot be counted. */
export type CountInMinute = (key: string) => MinuteCount | Promise<MinuteCount | undefined>;

const minuteMs = 60_000;
const maxOver = 10_000;

interface Minute {
  count: number;
  endsAt: number;
}

/**
 * How often each key was used in its minute, which begins with its first use. Two generations: when the newer is a minute
 * old, or full, every minute in the older one has ended, and it is dropped.
 */
export function countInMemory({ now = Date.now, maxKeys = 100_000 } = {}): CountInMinute {
  let older = new Map<string, Minute>();
  let newer = new Map<string, Minute>();
  let rotateAt = 0;
  return (key) => {
    const time = now();
    if (time >= rotateAt || newer.size >= maxKeys) {
      older = newer;
      newer = new Map();
      rotateAt = time + minuteMs;
    }
    let minute = newer.get(key) ?? older.get(key);
    if (!minute || time >= minute.endsAt) {
      minute = { count: 0, endsAt: time + minuteMs };
      newer.set(key, minute);
    }
    minute.count += 1;
    return { count: minute.count, leftMs: minute.endsAt - time };
  };
}

/**
 * The same for all instances that share a Redis, in two commands. One that is unreachable must not take the service down: nobody is
 * counted then. A key that is over `max` stays so until its minute ends, which is known without asking.
 */
export function countInRedis(redis: Redis, name: string, max = Number.POSITIVE_INFINITY): CountInMinute {
  const over = new Map<string, number>();
  return async (key) => {
    const endsAt = over.get(key);
    const now = performance.now();
    if (endsAt !== undefined && now < endsAt) return { count: max + 1, leftMs: endsAt - now };
    const counted = await askRedis(redis, () => countOnce(redis, `palaver:rate:${name}:${key}`));
    if (counted && counted.count > max) {
      if (over.size >= maxOver) over.clear();
      over.set(key, performance.now() + counted.leftMs);
    } else over.delete(key);
    return counted;
  };
}

async function countOnce(redis: Redis, counter: string): Promise<MinuteCount> {
  const [[, count] = [], [fault, leftMs] = []] = (await redis.pipeline().incr(counter).pttl(counter).exec()) ?? [];
  if (typeof count !== 'number' || typeof leftMs !== 'number') throw fault ?? new Error('Redis did not count');
  if (leftMs >= 0) return { count, leftMs };
  // The first of its minute; another instance that finds it without an expiry sets the same one.
  await redis.pexpire(counter, minuteMs);
  return { count, leftMs: minuteMs };
}
