import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { Durations } from './durations.ts';

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
