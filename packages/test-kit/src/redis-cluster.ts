import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { type RunningRedis, startRedis } from './redis.ts';
import { createTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

export interface RedisCluster extends AsyncDisposable {
  /** All nodes, as `REDIS_URL` takes them. */
  url: string;
  /** A master dies, its replica is promoted, and it comes back as a replica: another one at every call. */
  failOver(): Promise<void>;
}

interface Node {
  port: number;
  server: RunningRedis;
  start(): Promise<void>;
  /** An administrator's command. */
  call(...args: string[]): Promise<string>;
}

const slots = 16_384;
const masters = 3;
const startMs = 60_000;

/** Three masters with a third of the slots each, and a replica of each where `withReplicas`. Redis must be on this machine. */
export async function startRedisCluster({ withReplicas = false } = {}): Promise<RedisCluster> {
  await using opened = new AsyncDisposableStack();
  const nodes: Node[] = [];
  for (let index = 0; index < (withReplicas ? 2 * masters : masters); index += 1) nodes.push(await startNode(opened));
  await join(nodes);
  const kept = opened.move();
  let round = 0;
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    async failOver() {
      const pair = [nodes[round % masters], nodes[(round % masters) + masters]] as [Node, Node];
      round += 1;
      const isMaster = await Promise.all(pair.map(hasRole('master')));
      const [dead, next] = isMaster[0] ? pair : pair.toReversed();
      if (!dead || !next) throw new Error('this cluster has no replicas');
      await dead.server.stop();
      await waitFor('the promotion', () => hasRole('master')(next), startMs);
      await dead.start();
      await waitFor('the new replica', async () => (await isInSync(dead)) && (await isComplete(next)), startMs);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startNode(opened: AsyncDisposableStack): Promise<Node> {
  const { path } = opened.use(await createTempDir());
  const [port, busPort] = [await freePort(), await freePort()];
  const args = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--dir', path];
  const failover = ['--cluster-node-timeout', '1000', '--cluster-replica-validity-factor', '0'];
  const start = async () => {
    const started = await startRedis([...args, '--cluster-announce-ip', '127.0.0.1', ...failover], port);
    if ('reason' in started) throw new Error(started.reason);
    return started;
  };
  const node: Node = {
    port,
    server: await start(),
    async start() {
      node.server = await start();
    },
    async call(name, ...rest) {
      const client = new Redis(port, { lazyConnect: true, retryStrategy: () => null });
      client.on('error', () => {});
      try {
        await client.connect();
        return String(await client.call(name, ...rest));
      } finally {
        client.disconnect();
      }
    },
  };
  opened.defer(() => node.server.stop());
  await node.call('CONFIG', 'SET', 'cluster-announce-bus-port', String(busPort));
  return node;
}

async function join(nodes: Node[]): Promise<void> {
  const [first, ...others] = nodes as [Node, ...Node[]];
  const [, busPort] = (await first.call('CONFIG', 'GET', 'cluster-announce-bus-port')).split(',');
  for (const node of others) await node.call('CLUSTER', 'MEET', '127.0.0.1', String(first.port), busPort ?? '');
  for (const [index, node] of nodes.slice(0, masters).entries()) {
    const begin = Math.ceil((index * slots) / masters);
    await node.call('CLUSTER', 'ADDSLOTSRANGE', String(begin), String(Math.ceil(((index + 1) * slots) / masters) - 1));
  }
  const all = async (isReady: (node: Node) => Promise<boolean>) =>
    (await Promise.all(nodes.map(isReady))).every(Boolean);
  const knowsAll = async (node: Node) =>
    (await isComplete(node)) && (await node.call('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${nodes.length}`);
  await waitFor('the cluster', () => all(knowsAll), startMs);
  for (const [index, node] of nodes.slice(masters).entries())
    await node.call('CLUSTER', 'REPLICATE', await (nodes[index] as Node).call('CLUSTER', 'MYID'));
  if (nodes.length > masters)
    await waitFor(
      'the replicas',
      async () => (await Promise.all(nodes.slice(masters).map(isInSync))).every(Boolean),
      startMs,
    );
}

const hasRole = (role: string) => async (node: Node) =>
  (await node.call('INFO', 'replication').catch(() => '')).includes(`role:${role}`);

const isInSync = async (node: Node) =>
  (await node.call('INFO', 'replication').catch(() => '')).includes('master_link_status:up');

const isComplete = async (node: Node) => (await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
