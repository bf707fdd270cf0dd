import { createSigningAccount, createTxOutbox, type GatewayClient } from '@palaver/protocol';
import { toClaimId } from '@palaver/protocol/internal';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { createClaims } from './claims.ts';

test('a strange reply or a reward that cannot be booked holds up no other claim', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const answers = new Map<string, unknown>([['/ixo/claims/collection/strange', { collection: 'of another form' }]]);
  const gateway = {
    async get(path: string) {
      const value = answers.get(path);
      return value === undefined ? { ok: false, kind: 'missing', message: 'not found' } : { ok: true, value };
    },
  } as unknown as GatewayClient;
  const logger = createLogger({ name: 'test', level: 'silent' });
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const outbox = createTxOutbox<UssdTables>({ store, service: 'ussd', gateway, account, logger });
  let now = 1_000_000;
  const clock = { now: () => now };
  const claims = createClaims({ store, outbox, gateway, collection: '1', agentDid: 'did:x:a', clock, logger });

  const add = async (source: string, collection: string) => {
    const claim = { source, phone: '+254700000001', collection, content: {}, now };
    await store.transaction((trx) => claims.add(trx, claim));
    return toClaimId(JSON.stringify({ source, collection }));
  };
  const setSubmitted = (id: string) =>
    store.db.updateTable('ussd_claim').set({ status: 'submitted' }).where('id', '=', id).execute();
  const paid = (amount: string) => ({
    claim: {
      amount: amount === '' ? [] : [{ denom: 'uixo', amount }],
      evaluation: { status: 'APPROVED' },
      payments_status: { approval: 'PAID' },
    },
  });
  const holder = { id: 'a', phone: '+254700000001', name: 'Ana', pin: '', address: null, did: null, created_at: 1 };
  const untried = { link_tries: 0, link_tried_at: 0, failed: 0, failed_total: 0, locks: 0, locked_until: null };
  await store.db
    .insertInto('ussd_account')
    .values({ ...holder, ...untried } as UssdTables['ussd_account'])
    .execute();

  await add('queued', 'strange');
  const unreadable = await Promise.all(Array.from({ length: 20 }, (_, i) => add(`unreadable${i}`, 'strange')));
  const huge = await add('huge', '1');
  const good = await add('good', '1');
  for (const id of unreadable) answers.set(`/ixo/claims/claim/${id}`, paid(''));
  answers.set(`/ixo/claims/claim/${huge}`, paid('1000000000000000000000'));
  answers.set(`/ixo/claims/claim/${good}`, paid('700'));
  for (const id of [...unreadable, huge, good]) await setSubmitted(id);

  await claims.process();
  const [queued] = await claims.list({ status: 'queued', limit: 5 });
  expect(queued).toMatchObject({ fault: 'collection strange: an answer of another form', checked_at: now });
  const first = now;
  now += 5_000;
  expect(await claims.process()).toEqual({ queued: 1, submitted: 21, paid: 1 });
  expect(await claims.list({ status: 'paid', limit: 5 })).toMatchObject([{ id: good, reward: '0.0007 IXO' }]);
  expect((await claims.find(['huge'])).get('huge')).toMatchObject({ fault: expect.stringContaining('is too large') });
  expect((await claims.find(['queued'])).get('queued')?.checked_at).toBe(first); // written once a minute
  await store.close();
});
