import { join } from 'node:path';
import { createTempDir, listScans, recordStatements } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { openHistory } from './history-store.ts';

test('no statement reads the kept history from end to end', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, 'history.db');
  using recorded = recordStatements();
  const history = openHistory(path);
  history.add('agent', 1_000, [{ method: 'GET', route: '/', count: 1, faults: 0, buckets: new Map([[0.1, 1]]) }]);
  expect(history.read({ since: 0, until: 60_000 }).services).toEqual({ agent: [[0.0167, 0, 0.095]] });
  history.forget(0);
  const scans = await listScans(`file:${path}`, recorded.statements);
  expect(scans.filter(({ table }) => table !== 'alarm')).toEqual([]);
  history.close();
});
