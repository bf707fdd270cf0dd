import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';
import { createLogger } from './logger.ts';
import { Durations } from './metrics.ts';
import { openEventStream } from './replies.ts';
import { listen } from './run-service.ts';

test('a stream counts by the time to its first byte, however long it lasts', async () => {
  const server = await createServer({
    name: 'test',
    logger: createLogger({ name: 'test', level: 'silent' }),
    trustProxy: false,
    operatorToken: undefined,
    bodyLimit: 1024,
    health: async () => ({ healthy: true, body: { status: 'ok' } }),
  });
  let lasted = 0;
  server.get('/stream', async (_request, reply) => {
    const stream = openEventStream(reply, { heartbeatMs: 60_000 });
    const begun = performance.now();
    await sleep(100);
    lasted = performance.now() - begun;
    stream?.end();
  });
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  try {
    const asked = performance.now();
    await (await fetch(`${url}/stream`)).text();
    const whole = performance.now() - asked;
    const text = await (await fetch(`${url}/metrics`)).text();
    const [, sum = ''] = /http_request_duration_seconds_sum\{[^}]*route="\/stream"[^}]*\} (\S+)/.exec(text) ?? [];
    expect(Number(sum) * 1000).toBeLessThanOrEqual(whole - lasted);
  } finally {
    await server.close();
  }
});

test('durations are shown as the library shows its own histograms', async () => {
  const registry = new Registry();
  registry.setDefaultLabels({ service: 'one' });
  const durations = new Durations({ name: 'd_seconds', help: 'Some', labelNames: ['route', 'status'], registry });
  durations.count(0.002, '/a', '200');
  durations.count(0.0025, '/a', '200');
  durations.count(11, '/a', '200');
  durations.count(0.3, '/b', '404');
  const text = await registry.metrics();
  expect(text).toContain('# TYPE d_seconds histogram');
  const linesOf = (route: string) =>
    [
      ...text.matchAll(
        new RegExp(`^d_seconds_(\\w+)\\{(?:le="(\\S+?)",)?service="one",route="${route}",status="\\d+"\\} (.*)$`, 'gm'),
      ),
    ].map(([, kind, le, value]) => [kind, le, Number(value)]);
  expect(linesOf('/a')).toEqual([
    ['bucket', '0.001', 0],
    ...['0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10'].map((le) => [
      'bucket',
      le,
      2,
    ]),
    ['bucket', '+Inf', 3],
    ['sum', undefined, 11.0045],
    ['count', undefined, 3],
  ]);
  expect(linesOf('/b').at(-1)).toEqual(['count', undefined, 1]);
  const [metric] = await registry.getMetricsAsJSON();
  expect(metric).toMatchObject({ name: 'd_seconds', type: 'histogram' });
});
