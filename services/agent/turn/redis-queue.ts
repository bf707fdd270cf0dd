import type { Redis } from 'ioredis';
import type { SessionQueue } from './session-queue.ts';

export interface RedisQueueOptions {
  redis: Redis;
  prefix: string;
  instance: string;
  isAlive(instance: string): Promise<boolean>;
  maxWaiting: number;
}

/** A list per session: who stands first has the turn. Places of instances that died are cleared by those who wait. */
export interface RedisQueue extends SessionQueue {
  readonly channel: string;
  /** Somebody left the queue of this session. */
  wake(sessionId: string): void;
  close(): void;
}

const keptMs = 24 * 3_600_000;
const lookMs = 1_000;

// One step, so that two instances cannot both take the last place.
const enterScript = `
  if redis.call('LLEN', KEYS[1]) > tonumber(ARGV[2]) then return 0 end
  redis.call('RPUSH', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1`;

export function createRedisQueue({ redis, prefix, instance, isAlive, maxWaiting }: RedisQueueOptions): RedisQueue {
  const channel = `${prefix}queue`;
  const keyOf = (sessionId: string) => `${prefix}queue:${sessionId}`;
  const waiting = new Map<string, Set<() => void>>();

  async function remove(sessionId: string, entry: string): Promise<void> {
    await redis.lrem(keyOf(sessionId), 0, entry);
    await redis.publish(channel, sessionId);
  }

  /** Resolves when `entry` stands first; looks again when somebody left, and now and then in case word of it was lost. */
  async function waitForTurn(sessionId: string, entry: string, left: AbortSignal): Promise<void> {
    while (!left.aborted) {
      const first = await redis.lindex(keyOf(sessionId), 0).catch(() => undefined);
      if (first === entry) return;
      const owner = first?.split('|')[1];
      if (first && owner !== undefined && !(await isAlive(owner).catch(() => true))) {
        await remove(sessionId, first);
        continue;
      }
      await new Promise<void>((resolve) => {
        const set = waiting.get(sessionId) ?? new Set();
        waiting.set(sessionId, set);
        const timer = setTimeout(done, lookMs);
        function done(): void {
          clearTimeout(timer);
          set.delete(done);
          if (set.size === 0) waiting.delete(sessionId);
          resolve();
        }
        set.add(done);
      });
    }
  }

  return {
    channel,
    wake(sessionId) {
      for (const look of waiting.get(sessionId) ?? []) look();
    },
    async enter(sessionId, runId) {
      const entry = `${runId}|${instance}`;
      const entered = await redis.eval(enterScript, 1, keyOf(sessionId), entry, maxWaiting, keptMs);
      if (entered !== 1) return undefined;
      const left = new AbortController();
      return {
        turn: waitForTurn(sessionId, entry, left.signal),
        async leave() {
          left.abort();
          await remove(sessionId, entry);
        },
      };
    },
    async list(sessionId) {
      const entries = await redis.lrange(keyOf(sessionId), 0, -1);
      return entries.map((entry) => entry.split('|')[0] ?? '');
    },
    close() {
      for (const set of waiting.values()) for (const look of set) look();
    },
  };
}
