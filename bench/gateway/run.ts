// The query gateway beside a ceiling and a peer, in one run on one machine: `npm run bench:gateway`.
import type { ChildProcess } from 'node:child_process';
import autocannon from 'autocannon';
import { protoFolder, type TargetName, targets } from './answers.ts';
import { readUsage, start, waitForRoutes } from './processes.ts';

const connections = 50;
const warmSeconds = 1;
const seconds = Number(process.env.BENCH_SECONDS ?? 4);

interface Row {
  front: string;
  target: TargetName;
  perSecond: number;
  p50: number;
  p99: number;
  cpuMicros: number;
  failures: number;
}

async function measure(front: string, child: ChildProcess, url: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [target, path] of Object.entries(targets) as [TargetName, string][]) {
    await autocannon({ url: url + path, connections, duration: warmSeconds });
    const before = await readUsage(child);
    const result = await autocannon({ url: url + path, connections, duration: seconds });
    const cpu = (await readUsage(child)).cpuMicros - before.cpuMicros;
    const count = result['2xx'];
    rows.push({
      front,
      target,
      perSecond: count / result.duration,
      p50: result.latency.p50,
      p99: result.latency.p99,
      cpuMicros: cpu / Math.max(1, count),
      failures: result.non2xx + result.errors,
    });
  }
  return rows;
}

const node = await start<{ port: number }>('node.ts');
const upstream = `127.0.0.1:${node.first.port}`;
const gatewayEnv = { PORT: '0', LOG_LEVEL: 'warn', GATEWAY_UPSTREAMS: upstream, GATEWAY_DESCRIPTORS: protoFolder };
const fronts: [name: string, file: string, env: Record<string, string>][] = [
  ['bare Fastify', 'bare.ts', {}],
  ['gateway, hit', 'front.ts', { ...gatewayEnv, GATEWAY_CACHE_TTL_MS: '60000' }],
  ['gateway, 1 block/s', 'front.ts', { ...gatewayEnv, GATEWAY_CACHE_TTL_MS: '1000' }],
  ['gateway, no cache', 'front.ts', { ...gatewayEnv, GATEWAY_CACHE_TTL_MS: '0' }],
  ['naive peer', 'naive.ts', { UPSTREAM: upstream }],
];

const rows: Row[] = [];
for (const [name, file, env] of fronts) {
  const { child, first } = await start<{ url: string }>(file, env);
  await waitForRoutes(first.url);
  rows.push(...(await measure(name, child, first.url)));
  child.removeAllListeners('exit');
  child.kill();
}
node.child.removeAllListeners('exit');
node.child.kill();

console.log(`\n${connections} connections, ${seconds} s each, Node ${process.version}`);
console.table(
  rows.map(({ front, target, perSecond, p50, p99, cpuMicros, failures }) => ({
    front,
    answer: target,
    'req/s': Math.round(perSecond),
    'p50 ms': p50,
    'p99 ms': p99,
    'CPU µs/req': Math.round(cpuMicros),
    failures,
  })),
);
const find = (front: string, target: string) => rows.find((row) => row.front === front && row.target === target);
const ratio = (over: string, under: string, target: string, by: 'perSecond' | 'cpuMicros') =>
  ((find(over, target)?.[by] ?? 0) / (find(under, target)?.[by] ?? 1)).toFixed(2);
console.table(
  Object.keys(targets).map((target) => ({
    answer: target,
    'no cache / naive, req/s (aim 3)': ratio('gateway, no cache', 'naive peer', target, 'perSecond'),
    'naive / no cache, CPU': ratio('naive peer', 'gateway, no cache', target, 'cpuMicros'),
    'hit / bare, req/s (aim 0.6)': ratio('gateway, hit', 'bare Fastify', target, 'perSecond'),
    'bare / hit, CPU': ratio('bare Fastify', 'gateway, hit', target, 'cpuMicros'),
  })),
);
