import { openStore } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrateUssd } from './migrations.ts';
import { createSetNotice, forgetNotices, openNotices } from './notices.ts';
import type { UssdTables } from './tables.ts';

test('a notice that is set while an older one is removed is not lost', async () => {
  await using database = await createTestDatabase('postgres');
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const set = createSetNotice(store.cipher);
  const person = { phone: '+254700000001', now: Date.parse('2026-11-17') };
  await set(store.db, person, 'addressChanged');
  const written = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const setting = store.transaction(async (trx) => {
    await set(trx, person, 'pinChanged');
    written.resolve();
    await ended.promise;
  });
  await written.promise;
  const forgetting = store.transaction(
    (trx) => forgetNotices(trx, store.cipher, [{ phone: person.phone, text: 'notice.addressChanged' }]),
    { isolation: 'read committed' },
  );
  const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(async () => (await waiting.execute(store.db)).rows[0]?.count, { timeout: 10_000 }).toBe(1);
  ended.resolve();
  await Promise.all([setting, forgetting]);
  const row = await store.db.selectFrom('ussd_profile').select(['phone', 'notice']).executeTakeFirstOrThrow();
  expect(openNotices(store.cipher, row).map(({ text }) => text)).toContain('notice.pinChanged');
  await store.close();
});
