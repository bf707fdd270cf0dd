// How often a key was used in its minute: in this process, or in Redis for all instances together.
import type { openRedis } from '@palaver/service-kit';

export interface MinuteCount {
  /** This time included. */
  count: number;
  /** How long the minute still lasts. */
  leftMs: number;
}

export type CountInMinute = (name: string) => MinuteCount | Promise<MinuteCount>;

const minuteMs = 60_000;

export function countInMemory(now: () => number = Date.now): CountInMinute {
  const minutes = new Map<string, { count: number; endsAt: number }>();
  return (name) => {
    const time = now();
    const known = minutes.get(name);
    const minute = known && time < known.endsAt ? known : { count: 0, endsAt: time + minuteMs };
    minute.count += 1;
    minutes.set(name, minute);
    return { count: minute.count, leftMs: minute.endsAt - time };
  };
}

export function countInRedis(redis: Awaited<ReturnType<typeof openRedis>>): CountInMinute {
  return async (name) => {
    const key = `palaver:rate:gateway-key:${name}`;
    const steps = redis.multi().set(key, 0, 'PX', minuteMs, 'NX').incr(key).pttl(key);
    // As with the other limits, nobody is refused while Redis is away.
    const replies = await steps.exec().catch(() => null);
    const [count, leftMs] = [replies?.[1]?.[1], replies?.[2]?.[1]].map(Number);
    return { count: count || 0, leftMs: leftMs || 0 };
  };
}
