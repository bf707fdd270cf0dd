// The query gateway beside a ceiling and a peer, measured alternately in short rounds: `npm run bench:gateway`.
import { type LoadedProgram, openBench, quantile, runLoad } from '../harness.ts';
import { measurePrinting, type TargetName, targets } from './answers.ts';
import { startGateway, startNode, toRequest, waitForRoutes } from './fronts.ts';
import { startGoFront } from './go-front.ts';

const connections = 50;
/** Until the compiler has seen the code: fewer on a slow machine would measure the interpreter. */
const warmUp = { seconds: 20, dialogues: 20_000 };
/** Many short rounds: the least of them is one in which the machine did little else. */
const rounds = Number(process.env.BENCH_ROUNDS ?? 8);
const roundSeconds = 1;
const targetNames = Object.keys(targets) as TargetName[];

interface Front extends LoadedProgram {
  name: string;
  /** Whether no two requests are equal, so that each needs a call of its own. */
  distinct: boolean;
}

const loadOf = ({ distinct }: Front, target: TargetName) => ({
  requests: [toRequest(targets[target], distinct)],
  connections,
});

await using bench = openBench();
const upstream = await startNode(bench);
const fronts: Front[] = [];
async function add(name: string, distinct: boolean, program: LoadedProgram) {
  await waitForRoutes(program.url);
  const front = { ...program, name, distinct };
  for (const target of targetNames) await runLoad(front, { ...loadOf(front, target), ...warmUp });
  fronts.push(front);
}
const gateway = (ttlMs: string) => startGateway(bench, upstream, { GATEWAY_CACHE_TTL_MS: ttlMs });
const peer = (file: string) => bench.start(file, { env: { UPSTREAM: upstream } });
await add('bare Fastify', false, await peer('gateway/bare.ts'));
await add('gateway, hit', false, await gateway('3600000'));
await add('gateway, 1 block/s', false, await gateway('1000'));
await add('gateway, no cache', true, await gateway('0'));
await add('gateway, no cache, equal requests', false, await gateway('0'));
await add('Node alone', true, await peer('gateway/node-parts.ts'));
await add('naive peer', true, await peer('gateway/naive.ts'));
const goFront = await startGoFront(bench, upstream);
if (typeof goFront === 'string') console.log(`Without the Go front: ${goFront}.`);
else await add('Go front', true, goFront);

const samples: (Awaited<ReturnType<typeof runLoad>> & { front: string; target: TargetName })[] = [];
const printing: Record<TargetName, number>[] = [];
for (let round = 0; round < rounds; round += 1) {
  for (const target of targetNames) {
    for (const front of fronts) {
      const load = { ...loadOf(front, target), seconds: roundSeconds };
      samples.push({ ...(await runLoad(front, load)), front: front.name, target });
    }
  }
  printing.push(await measurePrinting());
}

const rows = fronts.flatMap(({ name }) =>
  targetNames.map((target) => {
    const own = samples.filter((sample) => sample.front === name && sample.target === target);
    const of = (field: 'perSecond' | 'p50' | 'p99') =>
      quantile(
        own.map((sample) => sample[field]),
        0.5,
      );
    return {
      front: name,
      answer: target,
      'req/s': Math.round(of('perSecond')),
      'p50 ms': Number(of('p50').toFixed(1)),
      'p99 ms': Number(of('p99').toFixed(1)),
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
