import { inject, test } from 'vitest';
import './provided-context.ts';

/** `test` with a `redisUrl`; where Redis cannot be had the test is skipped and the reason is printed at the end. */
export const testWithRedis = test.extend<{ redisUrl: string }>({
  redisUrl: async ({ skip }, use) => {
    const redis = inject('redis');
    if ('reason' in redis) skip(redis.reason);
    else await use(redis.url);
  },
});
