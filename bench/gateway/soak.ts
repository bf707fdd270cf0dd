// Memory under a long mixed load: `node bench/gateway/soak.ts MINUTES`. Hits, misses, new entries all the time, refusals.
import { openBench, runLoad } from '../harness.ts';
import { targets } from './answers.ts';
import { startGateway, startNode, toRequest, waitForRoutes } from './fronts.ts';

const minutes = Number(process.argv[2] ?? 10);
const perSecond = Number(process.argv[3] ?? 1_000);
const sampleSeconds = 15;

await using bench = openBench();
const gateway = await startGateway(bench, await startNode(bench), {});
await waitForRoutes(gateway.url);

const mix = [
  { path: targets.params, distinct: false, share: 0.4 },
  { path: targets.list, distinct: false, share: 0.25 },
  { path: targets.entity, distinct: true, share: 0.33 },
  { path: '/ixo/nothing', distinct: false, share: 0.02 },
];
const samples: number[] = [];
for (let sample = 1; sample <= (minutes * 60) / sampleSeconds; sample += 1) {
  const results = await Promise.all(
    mix.map(({ path, distinct, share }) => {
      const requests = [toRequest(path, distinct)];
      return runLoad(gateway, { requests, connections: 5, seconds: sampleSeconds, perSecond: share * perSecond });
    }),
  );
  const [answers, refused] = (['answers', 'failures'] as const).map((field) =>
    results.reduce((sum, result) => sum + result[field], 0),
  );
  const mib = (await gateway.usage()).rss / 1024 / 1024;
  samples.push(mib);
  console.log(
    `${((sample * sampleSeconds) / 60).toFixed(2)} min  ${mib.toFixed(0)} MiB  ${answers} answers, ${refused} refusals`,
  );
}
const third = Math.ceil(samples.length / 3);
const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
console.log(
  `middle third ${mean(samples.slice(third, 2 * third)).toFixed(0)} MiB, last third ${mean(samples.slice(-third)).toFixed(0)} MiB`,
);
