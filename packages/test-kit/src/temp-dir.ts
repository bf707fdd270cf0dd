import { statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * An empty folder of its own, removed with all its contents when disposed. It is in memory where the machine has enough of
 * it, since SQLite syncs every commit; with `durable` it is on the disk, for benchmarks.
 */
export async function createTempDir({
  durable = false,
} = {}): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(durable ? tmpdir() : findFastest(), 'palaver-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

const memory = '/dev/shm';
const leastFreeBytes = 2 * 1024 ** 3;

function findFastest(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize > leastFreeBytes ? memory : tmpdir();
  } catch {
    return tmpdir(); // not Linux
  }
}
