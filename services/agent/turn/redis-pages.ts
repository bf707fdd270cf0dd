import type { Redis } from 'ioredis';
import type { Page, Pages } from './peers.ts';

const keptMs = 24 * 3_600_000;

/**
 * A sorted set per session and user, newest last. Asking Socket.IO for all sockets of a room instead would wait for
 * every instance, those that just died included.
 */
export function createRedisPages(options: {
  redis: Redis;
  prefix: string;
  instance: string;
  isAlive(instance: string): Promise<boolean>;
}): Pages {
  const { redis, prefix, instance, isAlive } = options;
  const keyOf = ({ sessionId, userDid }: Omit<Page, 'socketId'>) => `${prefix}pages:${sessionId}:${userDid}`;
  const memberOf = ({ socketId }: Page) => `${socketId}|${instance}`;
  return {
    async add(page) {
      await redis.zadd(keyOf(page), Date.now(), memberOf(page));
      await redis.pexpire(keyOf(page), keptMs);
    },
    async remove(page) {
      await redis.zrem(keyOf(page), memberOf(page));
    },
    async latest(of) {
      for (const member of await redis.zrevrange(keyOf(of), 0, 20)) {
        const [socketId = '', owner = ''] = member.split('|');
        if (await isAlive(owner)) return socketId;
        await redis.zrem(keyOf(of), member);
      }
      return undefined;
    },
  };
}
