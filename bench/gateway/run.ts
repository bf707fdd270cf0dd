// The query gateway beside a ceiling and a peer, in one run on one machine: `npm run bench:gateway`.
// All fronts are up at once and take turns in short rounds, so that what else the machine does falls on all alike.
import type { ChildProcess } from 'node:child_process';
import { protoFolder, type TargetName, targets } from './answers.ts';
import { readUsage, runLoad, start, waitForRoutes } from './processes.ts';

const connections = 50;
const warmSeconds = 1;
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const roundSeconds = 2;
const targetNames = Object.keys(targets) as TargetName[];

interface Front {
  name: string;
  child: ChildProcess;
  port: number;
  distinct: boolean;
}

interface Row {
  front: string;
  target: TargetName;
  perSecond: number;
  p50: number;
  p99: number;
  cpuMicros: number;
  failures: number;
}

async function measure({ name, child, port, distinct }: Front, target: TargetName): Promise<Row> {
  const before = await readUsage(child);
  const load = { port, path: targets[target], distinct, connections, seconds: roundSeconds };
  const { answers, failures, perSecond, p50, p99 } = await runLoad(load);
  const after = await readUsage(child);
  const cpuMicros = (after.cpuMicros - before.cpuMicros) / Math.max(1, answers);
  return { front: name, target, perSecond, p50, p99, cpuMicros, failures };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const node = await start<{ port: number }>('node.ts');
const upstream = `127.0.0.1:${node.first.port}`;
const gatewayEnv = { PORT: '0', LOG_LEVEL: 'warn', GATEWAY_UPSTREAMS: upstream, GATEWAY_DESCRIPTORS: protoFolder };
interface Program {
  name: string;
  file: string;
  env?: Record<string, string>;
  /** Whether no two requests are equal, so that each needs a call of its own. */
  distinct: boolean;
}
const gateway = (name: string, ttlMs: string, distinct: boolean): Program => ({
  name,
  file: 'front.ts',
  env: { ...gatewayEnv, GATEWAY_CACHE_TTL_MS: ttlMs },
  distinct,
});
const programs: Program[] = [
  { name: 'bare Fastify', file: 'bare.ts', distinct: false },
  gateway('gateway, hit', '3600000', false),
  gateway('gateway, 1 block/s', '1000', false),
  gateway('gateway, no cache', '0', true),
  gateway('gateway, no cache, equal requests', '0', false),
  { name: 'naive peer', file: 'naive.ts', env: { UPSTREAM: upstream }, distinct: true },
];
const fronts: Front[] = [];
for (const { name, file, env, distinct } of programs) {
  const { child, first } = await start<{ url: string }>(file, env);
  await waitForRoutes(first.url);
  const port = Number(new URL(first.url).port);
  for (const target of targetNames)
    await runLoad({ port, path: targets[target], distinct, connections, seconds: warmSeconds });
  fronts.push({ name, child, port, distinct });
}

const samples: Row[] = [];
for (let round = 0; round < rounds; round += 1) {
  for (const target of targetNames) {
    for (const front of fronts) samples.push(await measure(front, target));
  }
}

const rows = fronts.flatMap(({ name }) =>
  targetNames.map((target) => {
    const own = samples.filter((sample) => sample.front === name && sample.target === target);
    const of = (field: 'perSecond' | 'p50' | 'p99' | 'cpuMicros') => median(own.map((sample) => sample[field]));
    return {
      front: name,
      answer: target,
      'req/s': Math.round(of('perSecond')),
      'p50 ms': Number(of('p50').toFixed(1)),
      'p99 ms': Number(of('p99').toFixed(1)),
      'CPU µs/req': Math.round(of('cpuMicros')),
      failures: own.reduce((sum, { failures }) => sum + failures, 0),
    };
  }),
);
console.log(`\n${connections} connections, median of ${rounds} rounds of ${roundSeconds} s, Node ${process.version}`);
console.table(rows);

const find = (front: string, target: string) => rows.find((row) => row.front === front && row.answer === target);
const ratio = (over: string, under: string, target: string, by: 'req/s' | 'CPU µs/req') =>
  ((find(over, target)?.[by] ?? 0) / (find(under, target)?.[by] ?? 1)).toFixed(2);
console.table(
  targetNames.map((target) => ({
    answer: target,
    'no cache / naive, req/s (aim 3)': ratio('gateway, no cache', 'naive peer', target, 'req/s'),
    'naive / no cache, CPU': ratio('naive peer', 'gateway, no cache', target, 'CPU µs/req'),
    'hit / bare, req/s (aim 0.6)': ratio('gateway, hit', 'bare Fastify', target, 'req/s'),
    'bare / hit, CPU': ratio('bare Fastify', 'gateway, hit', target, 'CPU µs/req'),
  })),
);
process.exit(0);
