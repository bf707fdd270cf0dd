import { Redis } from 'ioredis';
import type { Logger } from './logger.ts';
import { StartError } from './start-error.ts';

/** Connects to Redis or Valkey. A server that is not there stops the start; one that goes away later is waited for. */
export async function openRedis(url: string, logger: Logger): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 5_000,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
  });
  let last: Error | undefined;
  redis.on('error', (error: Error) => {
    if (last?.message !== error.message) logger.warn({ err: error }, 'Redis is not answering');
    last = error;
  });
  redis.on('ready', () => {
    last = undefined;
  });
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    const { host } = new URL(url);
    throw new StartError(`Redis at ${host} cannot be reached; start it or unset REDIS_URL.`, { cause: last ?? error });
  }
}
