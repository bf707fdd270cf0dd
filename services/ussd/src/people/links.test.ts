import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { createLinks } from './links.ts';

test.each(engines)('on %s pages that ask for a code at the same time leave one', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const links = createLinks({ store, secret: new Uint8Array(32), clock: { now: () => 1_000 } });
  const wallet = { did: 'did:key:z1', address: 'ixo1abc' };
  const opened = await Promise.all(Array.from({ length: 6 }, () => links.open(wallet)));
  const found = await Promise.all(opened.map(({ code }) => links.find(code)));
  expect(found.filter(Boolean)).toEqual([wallet]);
  await store.close();
});
