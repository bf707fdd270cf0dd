import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { freePort, waitFor } from '@palaver/test-kit';
import { Redis } from 'ioredis';

export interface OwnRedis extends AsyncDisposable {
  url: string;
  /** Kills the server and loses what it holds. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  /** Stops the process without closing its connections, and lets it run again. */
  freeze(): void;
  thaw(): void;
  flush(): Promise<void>;
}

const servers = ['redis-server', 'valkey-server'];
const command = servers.find((name) => spawnSync(name, ['--version']).status === 0) ?? '';

/** A Redis that a test may kill, freeze and flush. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;
  const ask = async <T>(run: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await run(redis);
    } finally {
      redis.disconnect();
    }
  };
  const own: OwnRedis = {
    url,
    async kill() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return;
      server.kill('SIGKILL');
      await once(server, 'exit');
    },
    async start() {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
      server = spawn(command, args, { stdio: 'ignore' });
      await waitFor('Redis', () => ask((redis) => redis.ping()));
    },
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    flush: () => ask(async (redis) => void (await redis.flushall())),
    [Symbol.asyncDispose]: () => own.kill(),
  };
  await own.start();
  return own;
}
