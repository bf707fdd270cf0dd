import type { TestProject } from 'vitest/node';
import './provided-context.ts';
import { installTools } from './install-tools.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';

/** Starts what the suite shares, once per run: one PostgreSQL, one Redis. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Before the first test that uses them: two would install them at the same time.
  installTools('clients');
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  project.provide('postgresUrl', postgres.url);
  project.provide('redis', 'url' in redis ? { url: redis.url } : redis);
  return async () => {
    await Promise.all([postgres.stop(), 'stop' in redis ? redis.stop() : undefined]);
  };
}
