import { createMinuteWindows, type MinuteCount, mergedMs, minuteMs } from '@palaver/contract/internal';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { askRedis } from './redis.ts';

/** Counts one use of a key in the last 60 seconds, unless `max` were counted; `undefined` while it cannot be counted. */
export type CountInMinute = (key: string, max?: number) => MinuteCount | Promise<MinuteCount | undefined>;

const maxOver = 10_000;

export function countInMemory(options: Parameters<typeof createMinuteWindows>[0] = {}): CountInMinute {
  const windows = createMinuteWindows(options);
  return (key, max = Number.POSITIVE_INFINITY) => {
    const { count, leftMs } = windows.look(key);
    if (count < max) windows.add(key);
    return { count: count + 1, leftMs };
  };
}

/**
 * The same for all instances that share a Redis, by its clock. One that is unreachable must not take the service down: nobody is
 * counted then. A key that is over `max` stays so until its oldest use is a minute ago, which is known without asking.
 */
export function countInRedis(redis: Redis, name: string): CountInMinute {
  const over = new LRUCache<string, number>({ max: maxOver });
  redis.defineCommand('countInMinute', { numberOfKeys: 1, lua: script });
  const ask = (counter: string, max: number) =>
    (redis as unknown as { countInMinute(counter: string, max: number): Promise<[number, number]> }).countInMinute(
      counter,
      max,
    );
  return async (key, max = Number.MAX_SAFE_INTEGER) => {
    const endsAt = over.get(key);
    const now = performance.now();
    if (endsAt !== undefined && now < endsAt) return { count: max + 1, leftMs: endsAt - now };
    // The name has changed with what is kept under it.
    const counted = await askRedis(redis, () => ask(`palaver:minute:${name}:${key}`, max));
    if (!counted) return undefined;
    const [count, leftMs] = counted;
    if (count > max) over.set(key, performance.now() + leftMs);
    return { count, leftMs };
  };
}

/** The same entries as in memory, as a flat list; one script, so that two instances cannot both take the last place. */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = {}
local total = 0
local packed = redis.call('GET', KEYS[1])
if packed then
  local known = cmsgpack.unpack(packed)
  for i = 1, #known, 3 do
    if now - known[i + 1] < ${minuteMs} then
      kept[#kept + 1] = known[i]
      kept[#kept + 1] = known[i + 1]
      kept[#kept + 1] = known[i + 2]
      total = total + known[i + 2]
    end
  end
end
if total < tonumber(ARGV[1]) then
  local size = #kept
  if size > 0 and now - kept[size - 2] < ${mergedMs} then
    kept[size - 1] = now
    kept[size] = kept[size] + 1
  else
    kept[size + 1] = now
    kept[size + 2] = now
    kept[size + 3] = 1
  end
  redis.call('SET', KEYS[1], cmsgpack.pack(kept), 'PX', ${minuteMs})
end
return { total + 1, (kept[2] or now) + ${minuteMs} - now }
`;
