// Several instances with one outbox.
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssdDatabase } from '../src/commands/database.ts';
import { startOutbox } from '../src/outgoing/outbox.ts';
import type { UssdTables } from '../src/store/tables.ts';

test.each(engines)('what two instances find at the same time is sent by one of them, on %s', async (engine) => {
  await using database = await createTestDatabase(engine);
  await migrateUssdDatabase({ DATABASE_URL: database.url });
  const stores = [await openStore<UssdTables>(database.url), await openStore<UssdTables>(database.url)];
  const [{ db } = { db: undefined }] = stores;
  const ids = Array.from({ length: 40 }, (_, i) => `message ${i}`);
  const row = {
    program: 'p',
    phone: '+254700000001',
    caller: '+254700000001',
    body: 'Hello',
    created_at: 1,
    fault: null,
    lease_until: 0,
  };
  for (const id of ids)
    await db
      ?.insertInto('ussd_sms')
      .values({ ...row, id, status: 'queued', attempts: 0, next_at: 1 })
      .execute();
  const sent: string[] = [];
  const senders = stores.map((store) =>
    startOutbox({
      store,
      table: 'ussd_sms',
      claimedStatus: 'sending',
      intervalMs: 5,
      clock: { now: () => 1_000 },
      logger: createLogger({ name: 'test', level: 'silent' }),
      async send({ id }) {
        sent.push(id);
        return { ok: true };
      },
    }),
  );
  await waitFor('all messages', async () => {
    const waiting = await db?.selectFrom('ussd_sms').select('id').where('status', '!=', 'sent').execute();
    return waiting?.length === 0;
  });
  await Promise.all(senders.map((sender) => sender.stop()));
  expect(sent.toSorted()).toEqual(ids.toSorted());
  for (const store of stores) await store.close();
});
