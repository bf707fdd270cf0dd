import { randomBytes } from 'node:crypto';
import { openStore } from '@palaver/store';
import { createKeyRing } from '@palaver/store/internal';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { loadServiceSecret } from './service-secret.ts';

test('all who hold the key get the same secret; others read what to set', async () => {
  const { url } = await createTestDatabase('sqlite');
  const store = await openStore<UssdTables>(url);
  onTestFinished(() => store.close());
  await migrateUssd(store);
  const key = randomBytes(32);
  const secret = await loadServiceSecret(store, createKeyRing(key));
  expect(await loadServiceSecret(store, createKeyRing(randomBytes(32), [key]))).toEqual(secret);
  await expect(loadServiceSecret(store, createKeyRing(randomBytes(32)))).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringContaining('PIN_ENCRYPTION_KEYS_OLD'),
  });
});
