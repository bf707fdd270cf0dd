// Memory under a long mixed load: `node bench/gateway/soak.ts MINUTES`. Hits, misses, new entries all the time, refusals.
import autocannon from 'autocannon';
import { protoFolder, targets } from './answers.ts';
import { readUsage, start, waitForRoutes } from './processes.ts';

const minutes = Number(process.argv[2] ?? 10);
const perSecond = Number(process.argv[3] ?? 1_000);
const sampleSeconds = 15;

const node = await start<{ port: number }>('node.ts');
const { child, first } = await start<{ url: string }>('front.ts', {
  PORT: '0',
  LOG_LEVEL: 'warn',
  GATEWAY_UPSTREAMS: `127.0.0.1:${node.first.port}`,
  GATEWAY_DESCRIPTORS: protoFolder,
  GATEWAY_CACHE_MB: '16',
});
await waitForRoutes(first.url);

let turn = 0;
const mixed = () => {
  turn += 1;
  if (turn % 4 === 0) return targets.list;
  if (turn % 50 === 0) return '/ixo/nothing';
  return turn % 3 === 0 ? `/ixo/entity/did:ixo:entity:${turn}` : targets.params;
};
const samples: number[] = [];
for (let sample = 0; sample < (minutes * 60) / sampleSeconds; sample += 1) {
  const result = await autocannon({
    url: first.url,
    connections: 20,
    duration: sampleSeconds,
    overallRate: perSecond,
    requests: [{ setupRequest: (request) => ({ ...request, path: mixed() }) }],
  });
  const { rss } = await readUsage(child);
  samples.push(rss / 1024 / 1024);
  console.log(
    `${(((sample + 1) * sampleSeconds) / 60).toFixed(2)} min  ${samples.at(-1)?.toFixed(0)} MiB  ${result['2xx']} answers, ${result['5xx']} failures`,
  );
}
const third = Math.ceil(samples.length / 3);
const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
console.log(
  `middle third ${mean(samples.slice(third, 2 * third)).toFixed(0)} MiB, last third ${mean(samples.slice(-third)).toFixed(0)} MiB`,
);
process.exit(0);
