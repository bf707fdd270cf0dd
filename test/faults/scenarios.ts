import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTempDir, waitFor } from '@palaver/test-kit/servers';
import { checkOutPrevious } from './previous-version.ts';
import type { Engine, Instance, ServiceName, World, WorldOptions } from './world.ts';

export interface Scenario {
  name: string;
  services: readonly ServiceName[];
  engines: readonly Engine[];
  /** Prepares what the world is made of; a reason where this machine cannot. */
  prepare?(opened: AsyncDisposableStack): Promise<Partial<WorldOptions> | { reason: string }>;
  /** Clients that leave in the middle of their requests. */
  leaveEarly?: boolean;
  /** Breaks something and repairs it. */
  inject(world: World): Promise<void>;
}

const stateful = ['ussd', 'agent'] as const;
const all = ['ussd', 'agent', 'gateway'] as const;
const both = ['sqlite', 'postgres'] as const;
const joined = ['postgres'] as const;

const anyOf = ({ instances }: World): Instance =>
  instances[Math.floor(Math.random() * instances.length)] ?? instances[0];

async function restart(instance: Instance, signal: NodeJS.Signals): Promise<void> {
  instance.kill(signal);
  const code = await instance.exited();
  if (signal === 'SIGTERM' && code !== 0) throw new Error(`SIGTERM ended it with ${code}`);
  await instance.start();
}

const preload = (dir: string, seconds: number) => {
  const path = join(dir, 'clock.mjs');
  writeFileSync(
    path,
    `const now = Date.now; const shift = ${seconds * 1000};
Date.now = () => now() + shift;
globalThis.Date = class extends Date { constructor(...args) { args.length === 0 ? super(now() + shift) : super(...args); } };
globalThis.Date.now = () => now() + shift;`,
  );
  return ['--import', path];
};

export const scenarios: readonly Scenario[] = [
  { name: 'kill -9', services: all, engines: both, inject: (world) => restart(anyOf(world), 'SIGKILL') },
  { name: 'SIGTERM under load', services: all, engines: both, inject: (world) => restart(anyOf(world), 'SIGTERM') },
  {
    name: 'all instances killed at once',
    services: stateful,
    engines: joined,
    async inject({ instances }) {
      for (const instance of instances) instance.kill('SIGKILL');
      await Promise.all(instances.map((instance) => instance.exited()));
      await Promise.all(instances.map((instance) => instance.start()));
    },
  },
  {
    name: 'frozen for 10 s (SIGSTOP)',
    services: stateful,
    engines: joined,
    async inject(world) {
      const frozen = anyOf(world);
      frozen.kill('SIGSTOP');
      await sleep(10_000);
      frozen.kill('SIGCONT');
    },
  },
  {
    name: 'Redis killed for 3 s',
    services: all,
    engines: joined,
    inject: async ({ redis }) => redis?.restart(3_000),
  },
  {
    name: 'Redis hung for 3 s',
    services: all,
    engines: joined,
    async inject({ redis }) {
      redis?.kill('SIGSTOP');
      await sleep(3_000);
      redis?.kill('SIGCONT');
    },
  },
  {
    name: 'Redis flushed',
    services: stateful,
    engines: joined,
    async inject({ redis }) {
      const { Redis } = await import('ioredis');
      const client = new Redis(redis?.url() ?? '');
      await client.flushall();
      client.disconnect();
    },
  },
  {
    name: 'Redis connections dropped',
    services: stateful,
    engines: joined,
    inject: async ({ redis }) => redis?.proxy.drop(),
  },
  {
    name: 'PostgreSQL restarted',
    services: stateful,
    engines: joined,
    inject: async ({ postgres }) => postgres?.primary().restart(),
  },
  {
    name: 'PostgreSQL cut off for 2 s',
    services: stateful,
    engines: joined,
    async inject({ postgres }) {
      postgres?.proxy.cut();
      await sleep(2_000);
      postgres?.proxy.restore();
    },
  },
  {
    name: 'PostgreSQL connections dropped',
    services: stateful,
    engines: joined,
    inject: async ({ postgres }) => postgres?.proxy.drop(),
  },
  {
    name: 'PostgreSQL stalled for 3 s',
    services: stateful,
    engines: joined,
    async inject({ postgres }) {
      postgres?.proxy.stall();
      await sleep(3_000);
      postgres?.proxy.restore();
    },
  },
  {
    name: 'PostgreSQL slow (100 ms, 64 kB/s)',
    services: stateful,
    engines: joined,
    async inject({ postgres }) {
      postgres?.proxy.delay(100);
      postgres?.proxy.throttle(64 * 1024);
      await sleep(3_000);
      postgres?.proxy.restore();
    },
  },
  {
    name: 'PostgreSQL fails over to its standby',
    services: stateful,
    engines: joined,
    prepare: async () => ({ failover: true }),
    inject: async ({ postgres }) => postgres?.failOver(),
  },
  {
    name: 'Redis fails over by Sentinel',
    services: all,
    engines: joined,
    prepare: async () => ({ failover: true }),
    inject: async ({ redis }) => redis?.failOver(),
  },
  {
    name: 'a master of a Redis Cluster fails over',
    services: all,
    engines: joined,
    prepare: async () => ({ cluster: true }),
    inject: async ({ redis }) => redis?.failOver(),
  },
  { name: 'PostgreSQL out of connections', services: stateful, engines: joined, inject: exhaustConnections },
  {
    name: 'disk full',
    services: stateful,
    engines: ['sqlite'],
    prepare: mountSmallDisk,
    async inject(world) {
      const filler = join(world.dataDir, 'filler');
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M'], { stdio: 'ignore' });
      await waitFor('health to notice', async () => !(await fetch(`${world.instances[0].url}/health`)).ok);
      await sleep(500);
      spawnSync('rm', ['-f', filler]);
    },
  },
  {
    name: 'clients that leave early',
    services: stateful,
    engines: both,
    leaveEarly: true,
    inject: () => sleep(1_500),
  },
  {
    name: 'a clock 200 s ahead',
    services: stateful,
    engines: joined,
    async inject(world) {
      await using dir = await createTempDir();
      const skewed = anyOf(world);
      skewed.kill('SIGTERM');
      await skewed.exited();
      await skewed.start(preload(dir.path, 200));
      await sleep(3_000);
      await restart(skewed, 'SIGTERM');
    },
  },
  {
    name: 'the previous version beside this one',
    services: stateful,
    engines: joined,
    prepare: checkOutPrevious,
    inject: (world) => restart(anyOf(world), 'SIGTERM'),
  },
  {
    name: 'the node killed for 1 s',
    services: ['gateway'],
    engines: both,
    async inject({ node }) {
      node?.kill('SIGKILL');
      await sleep(1_000);
      await node?.start();
    },
  },
  {
    name: 'the node stalled for 2 s',
    services: ['gateway'],
    engines: both,
    async inject({ node }) {
      node?.proxy.stall();
      await sleep(2_000);
      node?.proxy.restore();
    },
  },
];

async function exhaustConnections({ postgres }: World): Promise<void> {
  const { default: pg } = await import('pg');
  const clients: InstanceType<typeof pg.Client>[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: postgres?.primary().url ?? '' });
    client.on('error', () => {});
    const connected = await client.connect().then(
      () => true,
      () => false,
    );
    if (!connected) break;
    clients.push(client);
  }
  // The services reconnect into what is left: nothing.
  postgres?.proxy.drop();
  await sleep(2_000);
  await Promise.all(clients.map((client) => client.end()));
}

async function mountSmallDisk(opened: AsyncDisposableStack): Promise<Partial<WorldOptions> | { reason: string }> {
  const dir = opened.use(await createTempDir());
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', dir.path], {
    encoding: 'utf8',
  });
  if (mounted.status !== 0)
    return { reason: `a disk that can be filled needs the right to mount: ${mounted.stderr ?? mounted.error}`.trim() };
  opened.defer(() => void spawnSync('umount', ['-l', dir.path]));
  return { dataDir: dir.path };
}
