import type { Redis } from 'ioredis';

export interface MinuteCount {
  /** This time included. */
  count: number;
  /** How long the minute still lasts. */
  leftMs: number;
}

/** Counts one use of a key; `undefined` while it cannot be counted. */
export type CountInMinute = (key: string) => MinuteCount | Promise<MinuteCount | undefined>;

const minuteMs = 60_000;

interface Minute {
  count: number;
  endsAt: number;
}

/**
 * How often each key was used in its minute, which begins with its first use. Two generations: when the younger is a minute
 * old, or full, everything in the elder is over and is dropped at once.
 */
export function countInMemory({ now = Date.now, maxKeys = 100_000 } = {}): CountInMinute {
  let elder = new Map<string, Minute>();
  let younger = new Map<string, Minute>();
  let turnAt = 0;
  return (key) => {
    const time = now();
    if (time >= turnAt || younger.size >= maxKeys) {
      elder = younger;
      younger = new Map();
      turnAt = time + minuteMs;
    }
    let minute = younger.get(key) ?? elder.get(key);
    if (!minute || time >= minute.endsAt) {
      minute = { count: 0, endsAt: time + minuteMs };
      younger.set(key, minute);
    }
    minute.count += 1;
    return { count: minute.count, leftMs: minute.endsAt - time };
  };
}

/** The same for all instances that share a Redis. One that is away must not take the service down: nobody is counted then. */
export function countInRedis(redis: Redis, name: string): CountInMinute {
  return async (key) => {
    const counter = `palaver:rate:${name}:${key}`;
    const steps = redis.multi().set(counter, 0, 'PX', minuteMs, 'NX').incr(counter).pttl(counter);
    const replies = await steps.exec().catch(() => null);
    const [count, leftMs] = [replies?.[1]?.[1], replies?.[2]?.[1]].map(Number);
    return count && leftMs ? { count, leftMs } : undefined;
  };
}
