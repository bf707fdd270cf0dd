// The query gateway beside a ceiling and a peer, in one run on one machine: `npm run bench:gateway`.
// All fronts run at the same time and are measured alternately in short rounds, so that other load on the machine affects all of them.
import type { ChildProcess } from 'node:child_process';
import { measurePrinting, protoFolder, type TargetName, targets } from './answers.ts';
import { startGoFront } from './go-front.ts';
import { readUsage, runLoad, start, waitForRoutes } from './processes.ts';

const connections = 50;
/** Until the compiler has seen the code: fewer on a slow machine would measure the interpreter. */
const warmRequests = 20_000;
const warmSeconds = 20;
/** Many short rounds: the least of them is one in which the machine did little else. */
const rounds = Number(process.env.BENCH_ROUNDS ?? 8);
const roundSeconds = 1;
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
  { name: 'Node alone', file: 'node-parts.ts', env: { UPSTREAM: upstream }, distinct: true },
  { name: 'naive peer', file: 'naive.ts', env: { UPSTREAM: upstream }, distinct: true },
];
const fronts: Front[] = [];
async function add(name: string, { child, url, distinct }: { child: ChildProcess; url: string; distinct: boolean }) {
  await waitForRoutes(url);
  const port = Number(new URL(url).port);
  for (const target of targetNames)
    await runLoad({ port, path: targets[target], distinct, connections, seconds: warmSeconds, requests: warmRequests });
  fronts.push({ name, child, port, distinct });
}
for (const { name, file, env, distinct } of programs) {
  const { child, first } = await start<{ url: string }>(file, env);
  await add(name, { child, url: first.url, distinct });
}
const goFront = await startGoFront(upstream);
if (typeof goFront === 'string') console.log(`Without the Go front: ${goFront}.`);
else await add('Go front', { ...goFront, distinct: true });

const samples: Row[] = [];
const printing: Record<TargetName, number>[] = [];
for (let round = 0; round < rounds; round += 1) {
  for (const target of targetNames) {
    for (const front of fronts) samples.push(await measure(front, target));
  }
  printing.push(await measurePrinting());
}

const rows = fronts.flatMap(({ name }) =>
  targetNames.map((target) => {
    const own = samples.filter((sample) => sample.front === name && sample.target === target);
    const of = (field: 'perSecond' | 'p50' | 'p99') => median(own.map((sample) => sample[field]));
    return {
      front: name,
      answer: target,
      'req/s': Math.round(of('perSecond')),
      'p50 ms': Number(of('p50').toFixed(1)),
      'p99 ms': Number(of('p99').toFixed(1)),
      // What else runs on the machine only adds to it.
      'CPU µs/req': Number(Math.min(...own.map(({ cpuMicros }) => cpuMicros)).toFixed(1)),
      failures: own.reduce((sum, { failures }) => sum + failures, 0),
    };
  }),
);
console.log(
  `\n${connections} connections, ${rounds} rounds of ${roundSeconds} s: median, least for CPU; Node ${process.version}`,
);
console.table(rows);

const cpuOf = (front: string, target: TargetName) =>
  rows.find((row) => row.front === front && row.answer === target)?.['CPU µs/req'] ?? Number.NaN;
console.table(
  targetNames.map((target) => {
    const printed = Math.min(...printing.map((round) => round[target]));
    const [bare, hit, miss, alone, naive, go] = [
      cpuOf('bare Fastify', target),
      cpuOf('gateway, hit', target),
      cpuOf('gateway, no cache', target),
      cpuOf('Node alone', target),
      cpuOf('naive peer', target),
      cpuOf('Go front', target),
    ];
    return {
      'CPU of an answer': target,
      'hit / bare (aim 1.5)': (hit / bare).toFixed(2),
      'printing µs': printed.toFixed(1),
      '(no cache − printing) / bare (aim 3)': ((miss - printed) / bare).toFixed(2),
      'naive / no cache': (naive / miss).toFixed(2),
      'no cache / Node alone': (miss / alone).toFixed(2),
      'Node alone / Go': (alone / go).toFixed(2),
      'no cache / Go (aim 1.3, then below 1)': (miss / go).toFixed(2),
    };
  }),
);
process.exit(0);
