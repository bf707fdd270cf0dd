import { createGatewayClient, createSigningAccount, createTxOutbox, type OutboxRow } from '@palaver/protocol';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { readBooks } from '../../test/read-books.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { holderAccount, post, systemAccounts } from './books.ts';
import { bookReward, createPayouts, onPayoutSettled } from './payouts.ts';

test.each(engines)('on %s a payment that the chain refuses for good is given back once', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: 'http://127.0.0.1:1' });
  const outbox = createTxOutbox<UssdTables>({ store, service: 'ussd', gateway, account, logger });
  const payouts = createPayouts({ store, outbox, limit: { denom: 'uixo', amount: '100' } });
  const now = 1_000;
  const reward = { claimId: 'c', accountId: 'a', coins: [{ denom: 'uixo', amount: '90' }], now };
  await store.transaction((trx) => bookReward(trx, reward));
  for (const amount of [-5, 0, 0.5])
    expect(
      await store.transaction((trx) => payouts.send(trx, { accountId: 'a', address: account.address, amount, now })),
    ).toEqual({ ok: false, reason: 'notEnough' });
  const order = { accountId: 'a', address: account.address, amount: 60, now };
  const orders = [1, 2].map(() => store.transaction((trx) => payouts.send(trx, order)));
  expect((await Promise.all(orders)).map(({ ok }) => ok).toSorted()).toEqual([false, true]);
  expect(await payouts.balanceOf('a', now)).toEqual({ balance: 30n, sendable: 30 });

  const [row] = (await outbox.list('waiting', 10)) as [OutboxRow];
  for (let round = 0; round < 2; round += 1) await store.transaction((trx) => onPayoutSettled(trx, row, 'dead'));
  expect(await payouts.balanceOf('a', now)).toEqual({ balance: 90n, sendable: 90 });
  expect(await payouts.list('a', 5)).toMatchObject([{ status: 'failed', amount: 60 }]);

  await store.transaction((trx) => payouts.send(trx, { ...order, amount: 40, now: now + 1 }));
  const [next] = (await outbox.list('waiting', 10)).filter(({ id }) => id !== row.id) as [OutboxRow];
  expect(await payouts.list('a', 5)).toMatchObject([{ status: 'sending' }, { status: 'failed' }]);
  for (let round = 0; round < 2; round += 1) await store.transaction((trx) => onPayoutSettled(trx, next, 'included'));
  expect(await payouts.list('a', 5)).toMatchObject([{ status: 'sent', amount: 40 }, { status: 'failed' }]);
  expect(await payouts.balanceOf('a', now + 1)).toEqual({ balance: 50n, sendable: 50 });
  await store.close();
});

test.each(engines)('on %s a transaction is booked whole or not at all', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const reward = (accountId: string, ...amounts: string[]) =>
    store.transaction((trx) =>
      bookReward(trx, { claimId: 'c', accountId, coins: amounts.map((amount) => ({ denom: 'uixo', amount })), now: 1 }),
    );
  const balances = () => readBooks(store.db);
  await reward('a', '5', '6');
  expect(await balances()).toEqual({ 'holder:a:uixo': '11', 'system:rewards:uixo': '-11' });
  await expect(reward('a', '11')).rejects.toThrow('booked');
  await expect(reward('b', '11')).rejects.toThrow('booked');
  await expect(
    store.transaction((trx) =>
      post(trx, { id: 'reward:c:uixo', entries: { 'a:x': 1n, 'system:rewards:uixo': -1n }, now: 1 }),
    ),
  ).rejects.toThrow('booked');
  expect(await balances()).toEqual({ 'holder:a:uixo': '11', 'system:rewards:uixo': '-11' });
  await store.close();
});

test.each(engines)('on %s payments of different holders wait for nobody and keep the books', async (engine) => {
  await using database = await createTestDatabase(engine);
  const store = await openStore<UssdTables>(database.url);
  await migrateUssd(store);
  const { transit, rewards } = systemAccounts('uixo');
  const holders = ['a', 'b', 'c'];
  await store.transaction(async (trx) => {
    for (const accountId of holders)
      await bookReward(trx, { claimId: accountId, accountId, coins: [{ denom: 'uixo', amount: '9' }], now: 1 });
  });
  const pay = (id: string, booked?: () => Promise<void>) =>
    store.transaction(async (trx) => {
      await post(trx, { id: `payout:${id}`, entries: { [holderAccount(id, 'uixo')]: -4n, [transit]: 4n }, now: 2 });
      await booked?.();
    });
  // SQLite has one writer at a time in any case.
  if (engine === 'postgres') await pay('a', () => pay('b', () => pay('c')));
  else await Promise.all(holders.map((id) => pay(id)));
  const left = Object.fromEntries(holders.map((id) => [holderAccount(id, 'uixo'), '5']));
  expect(await readBooks(store.db)).toEqual({ ...left, [transit]: '12', [rewards]: '-27' });
  await store.close();
});
