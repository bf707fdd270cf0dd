import { readFile } from 'node:fs/promises';
import { createTempDir, startProcess, testWithRedis } from '@palaver/test-kit';
import { parser } from '@prometheus-io/lezer-promql';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { startService } from './service-fixture.ts';

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string };
}

/** The metrics that an expression reads; throws where it is not PromQL. */
function readMetrics(expr: string): string[] {
  const metrics: string[] = [];
  parser.parse(expr).iterate({
    enter({ type, from, to }) {
      if (type.isError) throw new Error(`not PromQL at character ${from}: ${expr}`);
      if (type.name === 'Identifier') metrics.push(expr.slice(from, to));
    },
  });
  return metrics;
}

testWithRedis('every metric of the example alert rules is one that the services have', async ({ redisUrl }) => {
  const text = await readFile(new URL('../../../docs/alerts.yml', import.meta.url), 'utf8');
  const { groups } = parse(text) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(5);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);

  await using joined = await startService('postgres', { REDIS_URL: redisUrl });
  await using alone = await startService('sqlite');
  const pages = [];
  for (const service of [joined, alone]) {
    await service.say('s1', '');
    pages.push(await (await service.get('/metrics')).text());
  }
  await using dir = await createTempDir();
  const agentMain = new URL('../../agent/src/main.ts', import.meta.url).pathname;
  const agent = startProcess(process.execPath, [agentMain], { env: { PORT: '0', DATA_DIR: dir.path } });
  await agent.printed(/listening on http:\S+/);
  const agentUrl = /listening on (http:[^\s"]+)/.exec(agent.output())?.[1];
  pages.push(await (await fetch(`${agentUrl}/metrics`)).text());
  agent.kill();
  await agent.exited;
  const known = new Set(pages.join('\n').match(/^\w+(?=[{ ])/gm));
  for (const name of pages.join('\n').matchAll(/^# TYPE (\w+) /gm)) known.add(name[1] ?? '');
  // Prometheus itself writes `up`, for every target that it scrapes.
  known.add('up');
  expect(rules.flatMap(({ expr }) => readMetrics(expr)).filter((metric) => !known.has(metric))).toEqual([]);
  expect(readMetrics('sum by (a) (rate(x_total{b="c"}[5m])) > 1')).toEqual(['x_total']);
  expect(() => readMetrics('rate(http_requests_total[5m) > 1')).toThrow('not PromQL');
});
