import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

// Below the ports that systems give to `listen(0)` and to outgoing connections, so none of those takes one in between.
const first = 20_000;
const count = 12_000;
const reservations = join(tmpdir(), `palaver-test-ports-${userInfo().uid}`);
const reservedForMs = 60_000;

/** A loopback port that nothing listens on. No other call, in any process, returns it within a minute. */
export async function freePort(): Promise<number> {
  mkdirSync(reservations, { recursive: true });
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    if (reserve(join(reservations, String(port))) && (await isFree(port))) return port;
  }
}

function reserve(file: string): boolean {
  const reservedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (reservedAt !== undefined && reservedAt > Date.now() - reservedForMs) return false;
  try {
    writeFileSync(file, '', { flag: reservedAt === undefined ? 'wx' : 'w' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
