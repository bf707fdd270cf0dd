// PostgreSQL and Redis as the services see them: behind a network that can fail, or with another server that takes over.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createTempDir,
  freePort,
  type RunningPostgres,
  type RunningRedis,
  startPostgres,
  startRedis,
  startRedisCluster,
  startTcpProxy,
  type TcpProxy,
  waitFor,
} from '@palaver/test-kit/servers';

export interface PostgresWorld {
  /** What the services connect to. */
  serviceUrl: string;
  primary(): RunningPostgres;
  proxy: TcpProxy;
  /** The primary dies, its standby takes over, and a new standby takes the place of the first primary. */
  failOver(): Promise<void>;
}

export interface RedisWorld {
  serviceUrl: string;
  url(): string;
  proxy: TcpProxy;
  kill(signal: NodeJS.Signals): void;
  restart(downMs: number): Promise<void>;
  /** The master dies, Sentinel promotes its replica, and the first master comes back as a replica. */
  failOver(): Promise<void>;
}

const noStandby = () => Promise.reject(new Error('this world has no server that takes over'));
const portOf = ({ url }: { url: string }) => Number(new URL(url).port);

/** Behind a proxy, or with `failover` a primary and a standby, which the services reach directly. */
export async function openPostgresWorld(
  opened: AsyncDisposableStack,
  { failover = false }: { failover?: boolean },
): Promise<PostgresWorld> {
  const own = opened.use(new AsyncDisposableStack());
  const first = await startPostgres({ maxConnections: 60 });
  own.defer(() => first.stop());
  let primary = first;
  const proxy = opened.use(await startTcpProxy(portOf(first)));
  const withHost = (host: string) => first.url.replace(new URL(first.url).host, host);
  const world = { primary: () => primary, proxy };
  if (!failover) return { ...world, serviceUrl: withHost(`127.0.0.1:${proxy.port}`), failOver: noStandby };

  const follow = async (server: RunningPostgres, port?: number) => {
    const started = await server.startStandby(port === undefined ? {} : { port });
    own.defer(() => started.stop());
    return started;
  };
  let standby = await follow(primary);
  return {
    ...world,
    serviceUrl: withHost(`${new URL(first.url).host},${new URL(standby.url).host}`),
    async failOver() {
      const dead = primary;
      await dead.kill();
      await standby.promote();
      primary = standby;
      standby = await follow(primary, portOf(dead));
    },
  };
}

export async function openRedisWorld(opened: AsyncDisposableStack): Promise<RedisWorld | { reason: string }> {
  const port = await freePort();
  const first = await startRedis([], port);
  if ('reason' in first) return first;
  let server = first;
  opened.defer(() => server.stop());
  const proxy = opened.use(await startTcpProxy(port));
  return {
    serviceUrl: `redis://127.0.0.1:${proxy.port}`,
    url: () => first.url,
    proxy,
    kill: (signal) => server.kill(signal),
    async restart(downMs) {
      await server.stop();
      await sleep(downMs);
      server = (await startRedis([], port)) as RunningRedis;
    },
    failOver: noStandby,
  };
}

/** Three masters, each with a replica, reached directly: the nodes give each other's addresses to clients. */
export async function openCluster(opened: AsyncDisposableStack): Promise<RedisWorld | { reason: string }> {
  // Also finds out whether this machine can have Redis.
  const probe = await startRedis();
  if ('reason' in probe) return probe;
  await probe.stop();
  const { url, failOver } = opened.use(await startRedisCluster({ withReplicas: true }));
  return {
    serviceUrl: url,
    url: () => url,
    proxy: opened.use(await startTcpProxy(portOf(probe))),
    kill: () => {},
    restart: noStandby,
    failOver,
  };
}

/** A master, a replica and a Sentinel, reached directly: Sentinel gives their addresses to clients. */
export async function openSentinel(opened: AsyncDisposableStack): Promise<RedisWorld | { reason: string }> {
  const own = opened.use(new AsyncDisposableStack());
  const start = async (args: string[], port?: number) => {
    const server = (await startRedis(args, port)) as RunningRedis;
    own.defer(() => server.stop());
    return server;
  };
  const first = await startRedis();
  if ('reason' in first) return first;
  opened.defer(() => first.stop());
  let master: RunningRedis = first;
  let replica = await start(['--replicaof', `127.0.0.1 ${portOf(master)}`]);
  const config = join(opened.use(await createTempDir()).path, 'sentinel.conf');
  const settings = [
    `sentinel monitor main 127.0.0.1 ${portOf(master)} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 2000',
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  const sentinel = await start([config, '--sentinel']);
  const { Redis } = await import('ioredis');
  const asked = new Redis(sentinel.url);
  opened.defer(() => asked.disconnect());
  const knowsReplica = async () => {
    const replicas = (await asked.call('SENTINEL', 'replicas', 'main')) as string[][];
    return replicas.some((fields) => fields.includes(String(portOf(replica))) && fields.includes('ok'));
  };
  await waitFor('Sentinel to know the replica', knowsReplica, 30_000);
  return {
    serviceUrl: `redis+sentinel://${new URL(sentinel.url).host}/main`,
    url: () => master.url,
    proxy: opened.use(await startTcpProxy(portOf(first))),
    kill: (signal) => master.kill(signal),
    restart: noStandby,
    async failOver() {
      await master.stop();
      const isPromoted = async () => {
        const [, port] = (await asked.call('SENTINEL', 'get-master-addr-by-name', 'main')) as string[];
        return Number(port) === portOf(replica);
      };
      await waitFor('Sentinel to promote the replica', isPromoted, 30_000);
      const dead = master;
      master = replica;
      replica = await start(['--replicaof', `127.0.0.1 ${portOf(master)}`], portOf(dead));
      await waitFor('the new replica', knowsReplica, 30_000);
    },
  };
}
