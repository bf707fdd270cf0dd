import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startConsole } from '../src/main.ts';

const folder = join(import.meta.dirname, '../../../docs/grafana');

test('every figure of the dashboard is a metric that services have', async () => {
  await using dir = await createTempDir();
  const running = await startConsole({ PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path, OPERATOR_TOKEN: 'secret' });
  const metrics = await (await fetch(`${running.url}/metrics`, { headers: { authorization: 'Bearer secret' } })).text();
  await running.close();
  const dashboard = JSON.parse(readFileSync(join(folder, 'palaver-dashboard.json'), 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  expect(dashboard.panels.length).toBeGreaterThan(5);
  for (const { title, targets } of dashboard.panels) {
    const names = targets.flatMap(({ expr }) =>
      [...expr.matchAll(/[a-z]+(?:_[a-z0-9]+)+(?=\{)/g)].map(([name]) => name),
    );
    expect([title, names.length > 0]).toEqual([title, true]);
    for (const name of names) {
      const base = name.replace(/_(?:bucket|count|sum)$/, '');
      // The console has no database; its services have these, from service-kit's addStoreMetrics.
      if (!base.startsWith('database_')) expect([title, metrics.includes(`# TYPE ${base} `)]).toEqual([title, true]);
    }
  }
});
