// Real servers and real processes of one service, with a network between them that can fail.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createTempDir,
  freePort,
  startProcess,
  startTcpProxy,
  type TcpProxy,
  type TestProcess,
  waitFor,
} from '@palaver/test-kit/servers';
import {
  openCluster,
  openPostgresWorld,
  openRedisWorld,
  openSentinel,
  type PostgresWorld,
  type RedisWorld,
} from './servers.ts';

export type ServiceName = 'ussd' | 'agent' | 'gateway';
export type Engine = 'sqlite' | 'postgres';

export interface Instance {
  url: string;
  /** Starts it where it is not running; ready when its health is good. */
  start(args?: string[]): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  exited(): Promise<number | string>;
  output(): string;
}

export interface World extends AsyncDisposable {
  service: ServiceName;
  engine: Engine;
  databaseUrl(): string;
  dataDir: string;
  /** When the latest fault ended, by `performance.now()`; infinite while there is one. */
  healedAt: number;
  instances: [Instance, ...Instance[]];
  postgres?: PostgresWorld;
  redis?: RedisWorld;
  /** The development node behind the query gateway. */
  node?: { proxy: TcpProxy; kill(signal: NodeJS.Signals): void; start(): Promise<void> };
}

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const agentKey = '1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100';
const pinKey = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';
export const defaultEnv = {
  LOG_LEVEL: 'warn',
  PIN_ENCRYPTION_KEY: pinKey,
  ORACLE_PRIVATE_KEY: agentKey,
  RATE_LIMIT_PER_MINUTE: '1000000',
  SENDS_PER_MINUTE: '1000000',
  OFFLINE_WORDS_PER_SECOND: '40',
};
const startMs = 180_000;

export interface WorldOptions {
  service: ServiceName;
  engine: Engine;
  env?: Record<string, string>;
  /** Where the embedded database lies; a folder of its own unless given. */
  dataDir?: string;
  /** PostgreSQL has a standby, Redis a replica and a Sentinel. */
  failover?: boolean;
  /** Redis is a cluster whose masters have replicas. */
  cluster?: boolean;
  /** Another checkout for the first instance, which creates the schema. */
  otherRoot?: string;
}

/** One instance on SQLite, two on PostgreSQL and Redis. Gives the reason where this machine cannot have it. */
export async function createWorld(options: WorldOptions): Promise<World | { reason: string }> {
  const { service, engine } = options;
  await using opened = new AsyncDisposableStack();
  const dir = opened.use(await createTempDir({ durable: true }));
  const dataDir = options.dataDir ?? dir.path;
  const env: Record<string, string> = { ...defaultEnv, DATA_DIR: dataDir, ...options.env };
  const world: Pick<World, 'postgres' | 'redis' | 'node'> = {};
  if (engine === 'postgres') {
    const open = options.cluster ? openCluster : options.failover ? openSentinel : openRedisWorld;
    const redis = await open(opened);
    if ('reason' in redis) return redis;
    world.redis = redis;
    env.REDIS_URL = redis.serviceUrl;
    if (service !== 'gateway') {
      world.postgres = await openPostgresWorld(opened, options);
      env.DATABASE_URL = world.postgres.serviceUrl;
    }
  }
  if (service === 'gateway') {
    world.node = await openNode(opened);
    env.GATEWAY_UPSTREAMS = `127.0.0.1:${world.node.proxy.port}`;
    env.GATEWAY_RATE_LIMIT_PER_MINUTE = '1000000';
    env.GATEWAY_CACHE_TTL_MS = '0';
  }
  const instances: Instance[] = [];
  for (let index = 0; index < (engine === 'postgres' ? 2 : 1); index += 1) {
    const home = index === 0 ? (options.otherRoot ?? root) : root;
    const instance = createInstance(mainOf(home, service), { ...env, PORT: String(await freePort()) });
    opened.defer(async () => {
      instance.kill('SIGKILL');
      await instance.exited();
    });
    await instance.start();
    instances.push(instance);
  }
  const kept = opened.move();
  return {
    service,
    engine,
    databaseUrl: () => world.postgres?.primary().url ?? `file:${join(dataDir, `${service}.sqlite`)}`,
    dataDir,
    healedAt: performance.now(),
    instances: instances as World['instances'],
    ...world,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export function createInstance(main: string, env: Record<string, string>): Instance {
  const url = `http://127.0.0.1:${env.PORT}`;
  let process: TestProcess | undefined;
  return {
    url,
    async start(args = []) {
      process = startProcess(globalThis.process.execPath, [...args, main], { env });
      const { exited, output } = process;
      const ended = exited.then((code) => {
        throw new Error(`${main} ended with ${code}: ${output().slice(-2_000)}`);
      });
      const healthy = async () => (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
      await Promise.race([waitFor(`${main} to start`, healthy, startMs), ended]);
      ended.catch(() => {});
    },
    kill: (signal) => process?.kill(signal),
    exited: async () => process?.exited ?? 0,
    output: () => process?.output() ?? '',
  };
}

async function openNode(opened: AsyncDisposableStack): Promise<NonNullable<World['node']>> {
  const port = await freePort();
  let node: TestProcess | undefined;
  const start = async () => {
    node = startProcess(process.execPath, [join(root, 'services/devnode/src/main.ts')], {
      env: { PORT: String(port) },
    });
    await node.printed('development node on', startMs);
  };
  await start();
  opened.defer(async () => {
    node?.kill();
    await node?.exited;
  });
  return { proxy: opened.use(await startTcpProxy(port)), start, kill: (signal) => node?.kill(signal) };
}

export const mainOf = (home: string, service: ServiceName) => join(home, `services/${service}/src/main.ts`);
