import { setImmediate } from 'node:timers/promises';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { startProgramStats } from './program-stats.ts';

test('what is counted while counts are written is written by the next call, which waits for the first', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const stats = startProgramStats(store, createLogger({ name: 'test', level: 'silent' }));
  const call = { version: 'farm@1', state: 'home', language: 'en' };
  // The first write waits for a transaction.
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const holding = store.transaction(() => held);
  stats.countTimedOut([call], 1_000);
  const first = stats.flush();
  await setImmediate();
  stats.countTimedOut([call], 1_000);
  const second = stats.flush();
  release();
  await second;
  expect(await store.db.selectFrom('ussd_state_stat').select('timed_out').execute()).toEqual([{ timed_out: 2 }]);
  await Promise.all([first, holding, stats.stop()]);
  await store.close();
});
