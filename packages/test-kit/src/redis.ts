import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { userInfo } from 'node:os';
import { freePort } from './free-port.ts';
import type { RunningServer } from './postgres.ts';

/** A throw-away Redis, or the reason why this machine cannot have one. */
export async function startRedis(): Promise<RunningServer | { reason: string }> {
  const command = findServer() ?? installServer();
  if (typeof command !== 'string') return command;
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const killWithParent = () => server.kill('SIGKILL');
  process.once('exit', killWithParent);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`${command} ended with ${code}`)));
    server.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('eady to accept connections')) resolve();
    });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      process.removeListener('exit', killWithParent);
      server.kill('SIGKILL');
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
