import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import type { RunningServer } from './postgres.ts';
import { createTempDir } from './temp-dir.ts';

const program = 'pgbouncer';

/** A PgBouncer in transaction mode before the server of `url`, or the reason why this machine cannot have one. */
export async function startPgbouncer(url: string, settings = ''): Promise<RunningServer | { reason: string }> {
  if (spawnSync(program, ['--version']).status !== 0) return { reason: 'pgbouncer is not on the PATH' };
  const dir = await createTempDir();
  const port = await freePort();
  const target = new URL(url);
  const file = join(dir.path, 'pgbouncer.ini');
  // Two server connections: statements of one client land on either.
  writeFileSync(
    file,
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
${settings}
`,
  );
  chmodSync(dir.path, 0o755);
  // PgBouncer refuses to run as root.
  const user = userInfo().uid === 0 ? ['-u', 'nobody'] : [];
  const server = spawn(program, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const killWithParent = () => server.kill('SIGKILL');
  process.once('exit', killWithParent);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`pgbouncer ended with ${code}`)));
    server.stderr.on('data', (chunk: Buffer) => {
      if (chunk.includes('process up')) resolve();
    });
  });
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    async stop() {
      process.removeListener('exit', killWithParent);
      server.kill('SIGKILL');
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      await dir[Symbol.asyncDispose]();
    },
  };
}
