import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir, userInfo } from 'node:os';
import { freePort } from './free-port.ts';
import type { RunningServer } from './postgres.ts';

export interface RunningRedis extends RunningServer {
  /** SIGSTOP hangs it, SIGCONT lets it continue. */
  kill(signal: NodeJS.Signals): void;
}

/** A throw-away Redis, or the reason why this machine cannot have one. `extra` are arguments for it. */
export async function startRedis(
  extra: readonly string[] = [],
  port?: number,
): Promise<RunningRedis | { reason: string }> {
  const command = findServer() ?? installServer();
  if (typeof command !== 'string') return command;
  port ??= await freePort();
  // A replica writes what it copies to a file, also without `--save`.
  const files = ['--save', '', '--appendonly', 'no', '--dbfilename', `palaver-test-${port}.rdb`];
  const args = [...extra, '--port', String(port), '--bind', '127.0.0.1', ...files];
  const server = spawn(command, args, { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'ignore'] });
  const killWithParent = () => server.kill('SIGKILL');
  process.once('exit', killWithParent);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`${command} ended with ${code}`)));
    server.stdout.on('data', (chunk: Buffer) => {
      if (/eady to accept connections|Sentinel ID is/.test(String(chunk))) resolve();
    });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: (signal) => void server.kill(signal),
    async stop() {
      process.removeListener('exit', killWithParent);
      server.kill('SIGKILL'); // also ends one that is stopped
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    },
  };
}

function findServer(): string | undefined {
  return ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
}

function installServer(): string | { reason: string } {
  const missing = 'Redis tests need redis-server or valkey-server on the PATH';
  if (userInfo().uid !== 0) return { reason: `${missing}; not root, so it cannot be installed` };
  if (spawnSync('apt-get', ['--version']).status !== 0) return { reason: `${missing}; there is no apt to install it` };
  process.stderr.write('redis-server is not here: installing it with apt-get …\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const timeout = 180_000;
  spawnSync('apt-get', ['update', '-q'], { env, timeout });
  const done = spawnSync('apt-get', ['install', '-qy', '--no-install-recommends', 'redis-server'], { env, timeout });
  return (
    findServer() ?? {
      reason: `${missing}; apt-get could not install it: ${done.stderr?.toString().trim().slice(-300)}`,
    }
  );
}
