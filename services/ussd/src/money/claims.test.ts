import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGatewayClient, createSigningAccount, createTxOutbox, type GatewayClient } from '@palaver/protocol';
import { toClaimId } from '@palaver/protocol/internal';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { readBooks } from '../../test/read-books.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';
import { createClaims, onClaimSettled } from './claims.ts';

/** A query gateway on a socket that knows these answers. */
async function startAnswers(answers: ReadonlyMap<string, unknown>) {
  const server = createServer((request, response) => {
    const value = answers.get(request.url ?? '');
    response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value ?? { message: 'not\0found' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}

test.each(engines)('on %s the reward of a number without an account waits for one', async (engine) => {
  await using database = await createTestDatabase(engine);
  const answers = new Map<string, unknown>();
  await using server = await startAnswers(answers);
  await using opened = new AsyncDisposableStack();
  const store = await openStore<UssdTables>(database.url);
  opened.defer(() => store.close());
  await migrateUssd(store);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: server.url });
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const outbox = createTxOutbox<UssdTables>({
    store,
    service: 'ussd',
    gateway,
    account,
    logger,
    onSettled: onClaimSettled,
  });
  const clock = { now: () => 1_000_000 };
  const claims = createClaims({ store, outbox, gateway, collection: '1', agentDid: 'did:x:a', clock, logger });
  const claim = { source: 'farm:planting:1', phone: '+254700000009', content: {}, now: 1 };
  await store.transaction((trx) => claims.add(trx, claim));
  const id = toClaimId(JSON.stringify({ source: claim.source, collection: '1' }));
  // The reason of a node is stored, whatever it holds.
  expect(await claims.process()).toEqual({ queued: 1 });
  expect((await claims.find([claim.source])).get(claim.source)?.fault).toBe('collection 1: notfound');
  await store.db.updateTable('ussd_claim').set({ status: 'submitted' }).execute();
  const paid = {
    collection_id: '1',
    agent_did: 'did:x:a',
    agent_address: account.address,
    evaluation: { status: 'APPROVED' },
    payments_status: { approval: 'PAID' },
  };
  // Someone else's claim under the same id.
  for (const other of [{ agent_address: 'ixo1stranger' }, { collection_id: '2' }]) {
    const amount = [{ denom: 'uixo', amount: '1000' }];
    answers.set(`/ixo/claims/claim/${id}`, { claim: { ...paid, ...other, amount } });
    expect(await claims.process()).toEqual({ submitted: 1 });
    expect((await claims.find([claim.source])).get(claim.source)?.fault).toContain('is of another agent');
  }
  answers.set('/ixo/claims/collection/1', { collection: { admin: 'ixo1admin' } });
  answers.set(`/ixo/claims/claim/${id}`, { claim: paid });
  expect(await claims.process()).toEqual({ submitted: 1 });
  expect((await claims.find([claim.source])).get(claim.source)?.fault).toContain('nothing says how much');
  // More than a number, or a 64-bit integer, holds exactly.
  const huge = '123456789012345678901';
  const reward = [
    { denom: 'uixo', amount: '7000000' },
    { denom: 'aevmos', amount: huge },
  ];
  answers.set(`/ixo/claims/claim/${id}`, { claim: { amount: reward, ...paid } });

  expect(await claims.process()).toEqual({ unclaimed: 1 });
  const balances = () => readBooks(store.db);
  const received = { 'system:rewards:uixo': '-7000000', 'system:rewards:aevmos': `-${huge}` };
  expect(await balances()).toEqual({
    ...received,
    'system:unclaimed:uixo': '7000000',
    'system:unclaimed:aevmos': huge,
  });
  const { phone } = await store.db.selectFrom('ussd_claim').select('phone').executeTakeFirstOrThrow();
  const holder = { id: 'a', phone, name: 'Ana', pin: '', address: null, did: null, created_at: 1 };
  const untried = { link_tries: 0, link_tried_at: 0, failed: 0, failed_total: 0, locks: 0, locked_until: null };
  await store.db
    .insertInto('ussd_account')
    .values({ ...holder, ...untried } as UssdTables['ussd_account'])
    .execute();
  // Without its books a reward stays owed, and the claim says why.
  await store.db.updateTable('ussd_money_entry').set({ transaction_id: sql`'lost:' || transaction_id` }).execute();
  expect(await claims.process()).toEqual({ unclaimed: 1 });
  expect((await claims.find([claim.source])).get(claim.source)?.fault).toBe(`there are no books of reward:${id}`);
  await store.db
    .updateTable('ussd_money_entry')
    .set({ transaction_id: sql`replace(transaction_id, 'lost:', '')` })
    .execute();
  for (let round = 0; round < 2; round += 1) expect(await claims.process()).toEqual({ paid: 1 });
  expect((await claims.find([claim.source])).get(claim.source)?.fault).toBeNull();
  expect(await balances()).toEqual({
    ...received,
    'holder:a:uixo': '7000000',
    'holder:a:aevmos': huge,
    'system:unclaimed:uixo': '0',
    'system:unclaimed:aevmos': '0',
  });
});

test.each(engines)('on %s a retry of a claim changes the claim and its entry together', async (engine) => {
  await using database = await createTestDatabase(engine);
  await using opened = new AsyncDisposableStack();
  const store = await openStore<UssdTables>(database.url);
  opened.defer(() => store.close());
  await migrateUssd(store);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: 'http://127.0.0.1:1' });
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const outbox = createTxOutbox<UssdTables>({ store, service: 'ussd', gateway, account, logger });
  const clock = { now: () => 1_000_000 };
  const claims = createClaims({ store, outbox, gateway, collection: '1', agentDid: 'did:x:a', clock, logger });
  await store.transaction((trx) => claims.add(trx, { source: 's', phone: '+254700000009', content: {}, now: 1 }));
  const id = toClaimId(JSON.stringify({ source: 's', collection: '1' }));
  const message = { typeUrl: '/x', value: new Uint8Array() };
  await store.transaction((trx) => outbox.add(trx, { id: `claim:${id}`, message }, 1));
  await store.db.updateTable('ussd_claim').set({ status: 'failed' }).execute();
  await store.db.updateTable('ussd_tx').set({ status: 'dead' }).execute();
  const read = async () => {
    const entry = await store.db.selectFrom('ussd_tx').select('status').executeTakeFirstOrThrow();
    const claim = await store.db.selectFrom('ussd_claim').select('status').executeTakeFirstOrThrow();
    return [claim.status, entry.status];
  };
  // A claim that cannot be changed: neither can its entry.
  const refuse =
    engine === 'sqlite'
      ? sql`create trigger refuse before update on ussd_claim begin select raise(abort, 'refused by the test'); end`
      : sql`alter table ussd_claim add constraint refuse check (status <> 'sending')`;
  await refuse.execute(store.db);
  await expect(claims.retry(id)).rejects.toThrow();
  expect(await read()).toEqual(['failed', 'dead']);
  await (engine === 'sqlite' ? sql`drop trigger refuse` : sql`alter table ussd_claim drop constraint refuse`).execute(
    store.db,
  );
  expect([await claims.retry(id), await claims.retry(id), await read()]).toEqual([true, false, ['sending', 'waiting']]);

  // What an older version left behind when it was killed between the two.
  await store.db.updateTable('ussd_claim').set({ status: 'failed' }).execute();
  const row = await store.db.selectFrom('ussd_tx').selectAll().executeTakeFirstOrThrow();
  await store.transaction((trx) => onClaimSettled(trx, row, 'included'));
  expect((await read())[0]).toBe('submitted');
});

test.each(engines)(
  'on %s a claim whose id a stranger took is submitted under another one, once, and booked once',
  async (engine) => {
    await using database = await createTestDatabase(engine);
    const answers = new Map<string, unknown>([['/ixo/claims/collection/1', { collection: { admin: 'ixo1admin' } }]]);
    await using server = await startAnswers(answers);
    await using opened = new AsyncDisposableStack();
    const store = await openStore<UssdTables>(database.url, { dataKeys: [Buffer.alloc(32, 7)] });
    opened.defer(() => store.close());
    await migrateUssd(store);
    const logger = createLogger({ name: 'test', level: 'silent' });
    const gateway = createGatewayClient({ url: server.url });
    const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
    const outbox = createTxOutbox<UssdTables>({
      store,
      service: 'ussd',
      gateway,
      account,
      logger,
      onSettled: onClaimSettled,
    });
    const clock = { now: () => 1_000_000 };
    const claims = createClaims({ store, outbox, gateway, collection: '1', agentDid: 'did:x:a', clock, logger });
    const claim = { source: 's', phone: '+254700000009', content: { hectares: 2 }, now: 1 };
    const find = async () => {
      const found = (await claims.find([claim.source])).get(claim.source);
      if (!found) throw new Error('there is no claim');
      return found;
    };
    const entries = async () => {
      const rows = await store.db.selectFrom('ussd_tx').select(['id', 'status']).execute();
      return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
    };
    const submitted = { collection_id: '1', agent_did: 'did:x:a', agent_address: account.address };
    /** The chain has another agent's claim under the id of ours, so that ours is refused for ever. */
    const loseId = async (id: string) => {
      answers.set(`/ixo/claims/claim/${id}`, { claim: { ...submitted, agent_address: 'ixo1stranger' } });
      await store.db.updateTable('ussd_tx').set({ status: 'dead' }).where('id', '=', `claim:${id}`).execute();
      const [row] = (await outbox.list('dead', 10)).filter((entry) => entry.id === `claim:${id}`);
      if (!row) throw new Error('the claim has no entry');
      await store.transaction((trx) => onClaimSettled(trx, { ...row, fault: 'claims 1105: exists' }, 'dead'));
    };

    await store.transaction((trx) => claims.add(trx, claim));
    await claims.process();
    const lost = (await find()).id;
    await loseId(lost);
    expect((await find()).status).toBe('failed');
    // Two operators at once, and one later with the old id.
    expect((await Promise.all([claims.retry(lost), claims.retry(lost)])).sort()).toEqual([false, true]);
    expect(await claims.retry(lost)).toBe(false);
    const { id, content, status, phone } = await find();
    expect([id === lost, status, phone]).toEqual([false, 'queued', claim.phone]);
    expect(JSON.parse(content)).toEqual({ source: 's', collection: '1', hectares: 2, retryOf: lost });
    expect(id).toBe(toClaimId(content));
    // The step that files the claim is repeated: it is the same claim.
    await store.transaction((trx) => claims.add(trx, claim));
    expect(await claims.process()).toEqual({ sending: 1 });
    expect(await entries()).toEqual({ [`claim:${lost}`]: 'dead', [`claim:${id}`]: 'waiting' });

    // The stranger does it again.
    await loseId(id);
    expect(await claims.retry(id)).toBe(true);
    await claims.process();
    const last = await find();
    const [row] = (await outbox.list('waiting', 10)).filter((entry) => entry.id === `claim:${last.id}`);
    if (!row) throw new Error('the claim has no entry');
    await store.transaction((trx) => onClaimSettled(trx, row, 'included'));
    // The strangers are paid; so is the caller, once.
    const paid = { evaluation: { status: 'APPROVED' }, payments_status: { approval: 'PAID' } };
    const amount = [{ denom: 'uixo', amount: '700' }];
    for (const taken of [lost, id])
      answers.set(`/ixo/claims/claim/${taken}`, { claim: { ...submitted, ...paid, agent_address: 'x', amount } });
    answers.set(`/ixo/claims/claim/${last.id}`, { claim: { ...submitted, ...paid, amount } });
    for (let round = 0; round < 2; round += 1) expect(await claims.process()).toEqual({ unclaimed: 1 });
    const booked = await store.db.selectFrom('ussd_money_entry').select('transaction_id').distinct().execute();
    expect(booked).toEqual([{ transaction_id: `reward:${last.id}:uixo` }]);
  },
);

test('while nobody can say whose the claim on the chain is, a retry keeps the id', async () => {
  await using database = await createTestDatabase('sqlite');
  const answers = new Map<string, unknown>([['/ixo/claims/collection/1', { collection: { admin: 'ixo1admin' } }]]);
  await using server = await startAnswers(answers);
  await using opened = new AsyncDisposableStack();
  const store = await openStore<UssdTables>(database.url);
  opened.defer(() => store.close());
  await migrateUssd(store);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: server.url });
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const outbox = createTxOutbox<UssdTables>({ store, service: 'ussd', gateway, account, logger });
  const clock = { now: () => 1_000_000 };
  const claims = createClaims({ store, outbox, gateway, collection: '1', agentDid: 'did:x:a', clock, logger });
  await store.transaction((trx) => claims.add(trx, { source: 's', phone: '+254700000009', content: {}, now: 1 }));
  await claims.process();
  const id = toClaimId(JSON.stringify({ source: 's', collection: '1' }));
  const own = { collection_id: '1', agent_did: 'did:x:a', agent_address: account.address };
  // Not on the chain, unreadable, and our own from an earlier attempt.
  for (const answer of [undefined, { claim: 'of another form' }, { claim: own }]) {
    if (answer) answers.set(`/ixo/claims/claim/${id}`, answer);
    await store.db.updateTable('ussd_tx').set({ status: 'dead' }).execute();
    await store.db.updateTable('ussd_claim').set({ status: 'failed' }).execute();
    expect(await claims.retry(id)).toBe(true);
    expect((await claims.find(['s'])).get('s')).toMatchObject({ id, status: 'sending' });
  }
});

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
  const paid = (amount: string, collection_id = '1') => ({
    claim: {
      collection_id,
      agent_did: 'did:x:a',
      agent_address: account.address,
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
  const refused = await add('refused', '1');
  await sql`create trigger refuse before insert on ussd_money_entry when new.transaction_id like ${sql.lit(`%${refused}%`)}
    begin select raise(abort, 'refused by the test'); end`.execute(store.db);
  for (const id of unreadable) answers.set(`/ixo/claims/claim/${id}`, paid('', 'strange'));
  answers.set(`/ixo/claims/claim/${huge}`, paid('1000000000000000000000'));
  answers.set(`/ixo/claims/claim/${good}`, paid('700'));
  answers.set(`/ixo/claims/claim/${refused}`, paid('800'));
  for (const id of [...unreadable, refused, huge, good]) await setSubmitted(id);

  await claims.process();
  const [queued] = await claims.list({ status: 'queued', limit: 5 });
  expect(queued).toMatchObject({ fault: 'collection strange: an answer of another form', checked_at: now });
  const first = now;
  now += 5_000;
  expect(await claims.process()).toEqual({ queued: 1, submitted: 21, paid: 2 });
  const rewards = (await claims.list({ status: 'paid', limit: 5 })).map(({ id, reward }) => [id, reward]);
  expect(Object.fromEntries(rewards)).toEqual({ [huge]: '1000000000000000 IXO', [good]: '0.0007 IXO' });
  expect((await claims.find(['refused'])).get('refused')).toMatchObject({
    fault: expect.stringContaining('refused by the test'),
  });
  expect((await claims.find(['queued'])).get('queued')?.checked_at).toBe(first); // written once a minute
  await store.close();
});
