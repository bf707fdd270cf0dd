import { removeSettled } from '@palaver/agent';
import { createGatewayClient, createSigningAccount, createTxOutbox } from '@palaver/protocol';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { startOpenAiServer } from '../../../agent/test/openai-server.ts';
import { startTestAgent } from '../../../agent/test/test-agent.ts';
import { createLedger } from './credits-ledger.ts';
import { type CreditsDatabase, creditsMigrations } from './credits-schema.ts';
import { createUsageClaims, onUsageSettled } from './usage-claims.ts';

const did = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';
const collectionOf = { collection: { admin: 'ixo1admin' } };

test.each(engines)('on %s usage is part of one claim, and a claim that failed is submitted again', async (engine) => {
  await using database = await createTestDatabase(engine);
  await using node = await startOpenAiServer((response) => response.end(JSON.stringify(collectionOf)));
  await using opened = new AsyncDisposableStack();
  const store = await openStore<CreditsDatabase>(database.url);
  opened.defer(() => store.close());
  await store.migrate('agent-credits', creditsMigrations);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: node.url });
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const outbox = createTxOutbox<CreditsDatabase>({
    store,
    service: 'agent_usage',
    gateway,
    account,
    logger,
    onSettled: onUsageSettled,
  });
  const ledger = createLedger(store, { free: 10, reservation: 5, claim: 100 });
  const parts = { store, ledger, outbox, gateway, collection: '4', agentDid: 'did:x:a', logger };
  const claims = createUsageClaims({ ...parts, periodMs: 1 });
  // Two instances at once; the node answers no other question, so that nothing is sent.
  const process = () => Promise.allSettled([claims.process(), createUsageClaims({ ...parts, periodMs: 1 }).process()]);
  const spend = async (sendId: string, cost: number) => {
    await ledger.reserve(did, sendId);
    await ledger.charge(did, sendId, cost);
  };

  await spend('a', 3);
  await spend('b', 9); // 7 are there, 2 are a debt
  await process();
  await ledger.topUp({ did, amount: 50, idempotencyKey: 'k' });
  await waitFor('the debt to be claimed', async () => {
    await process();
    return (await claims.list({ status: 'sending', limit: 10 })).length === 2;
  });
  const listed = await claims.list({ status: 'sending', limit: 10 });
  expect(listed.map(({ content }) => JSON.parse(content))).toMatchObject([
    { collection: '4', credits: 10, messages: 2 },
    { collection: '4', credits: 2, messages: 0 },
  ]);
  const { revenue } = await store.db
    .selectFrom('agent_credit_entry')
    .select(({ fn }) => fn.sum<number>('amount').as('revenue'))
    .where('account_id', '=', 'system:revenue')
    .executeTakeFirstOrThrow();
  expect(Number(revenue)).toBe(12);

  const id = String(listed[0]?.id);
  expect(await claims.retry(id)).toBe(false);
  const [row] = (await outbox.list('waiting', 10)).filter((entry) => entry.id === `usage:${id}`);
  if (!row) throw new Error('the claim has an entry');
  await sql`update agent_usage_tx set status = 'dead' where id = ${row.id}`.execute(store.db);
  await store.transaction((trx) => onUsageSettled(trx, { ...row, fault: 'claims 1103: ended' }, 'dead'));
  expect(await claims.list({ status: 'failed', limit: 10 })).toMatchObject([{ id, fault: 'claims 1103: ended' }]);
  expect([await claims.retry(id), await claims.retry(id)]).toEqual([true, false]);
  expect(await claims.list({ status: 'sending', limit: 10 })).toHaveLength(2);

  // What is settled is removed after its time, what waits is not.
  const [other] = listed.filter((claim) => claim.id !== id);
  await store.db
    .updateTable('agent_usage_claim')
    .set({ status: 'paid', checked_at: Date.now() - 3 * 86_400_000 })
    .where('id', '=', String(other?.id))
    .execute();
  const rules = [{ table: 'agent_usage_claim', time: 'checked_at', statuses: ['paid', 'rejected'] }];
  const left = () => store.db.selectFrom('agent_usage_claim').select('id').execute();
  const removing = removeSettled({ store, logger, days: 2, rules, everyMs: 10 });
  opened.defer(() => removing.stop());
  await waitFor('the claim to be removed', async () => (await left()).length === 1);
  expect(await left()).toEqual([{ id }]);
});

test("a stranger's claim under the same id, when it is rejected, refunds nothing", async () => {
  await using database = await createTestDatabase('sqlite');
  const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
  const rejected = {
    collection_id: '4',
    agent_did: 'did:x:a',
    agent_address: account.address,
    evaluation: { status: 'REJECTED' },
  };
  let claim = { ...rejected, agent_address: 'ixo1stranger' };
  await using node = await startOpenAiServer((response) => response.end(JSON.stringify({ ...collectionOf, claim })));
  await using opened = new AsyncDisposableStack();
  const store = await openStore<CreditsDatabase>(database.url);
  opened.defer(() => store.close());
  await store.migrate('agent-credits', creditsMigrations);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const gateway = createGatewayClient({ url: node.url });
  const outbox = createTxOutbox<CreditsDatabase>({ store, service: 'agent_usage', gateway, account, logger });
  const ledger = createLedger(store, { free: 10, reservation: 5, claim: 100 });
  const parts = { store, ledger, outbox, gateway, collection: '4', agentDid: 'did:x:a', logger, periodMs: 1 };
  const claims = createUsageClaims(parts);
  await ledger.reserve(did, 'a');
  await ledger.charge(did, 'a', 3);
  await waitFor('a claim', async () => {
    await claims.process().catch(() => {});
    return (await claims.list({ status: 'sending', limit: 1 })).length === 1;
  });
  await store.db.updateTable('agent_usage_claim').set({ status: 'submitted' }).execute();
  await sql`update agent_usage_tx set status = 'included'`.execute(store.db);
  for (const other of [{}, { agent_address: account.address, collection_id: '5' }]) {
    claim = { ...claim, ...other };
    expect(await claims.process()).toEqual({ submitted: 1 });
    expect(await claims.list({ status: 'submitted', limit: 1 })).toMatchObject([
      { fault: expect.stringContaining('is of another agent') },
    ]);
  }
  claim = rejected;
  expect(await claims.process()).toEqual({ rejected: 1 });
});

test.each(engines)(
  'on %s a usage claim whose id a stranger took is submitted under another one, once',
  async (engine) => {
    await using database = await createTestDatabase(engine);
    const account = await createSigningAccount('01'.repeat(32), { fee: '0uixo', gas: 1 });
    const claim = { collection_id: '4', agent_did: 'did:x:a', agent_address: 'ixo1stranger' };
    await using node = await startOpenAiServer((response) => response.end(JSON.stringify({ ...collectionOf, claim })));
    await using opened = new AsyncDisposableStack();
    const store = await openStore<CreditsDatabase>(database.url);
    opened.defer(() => store.close());
    await store.migrate('agent-credits', creditsMigrations);
    const logger = createLogger({ name: 'test', level: 'silent' });
    const gateway = createGatewayClient({ url: node.url });
    const outbox = createTxOutbox<CreditsDatabase>({ store, service: 'agent_usage', gateway, account, logger });
    const ledger = createLedger(store, { free: 10, reservation: 5, claim: 100 });
    const parts = { store, ledger, outbox, gateway, collection: '4', agentDid: 'did:x:a', logger, periodMs: 1 };
    const claims = createUsageClaims(parts);
    await ledger.reserve(did, 'a');
    await ledger.charge(did, 'a', 3);
    const list = async (status: 'sending' | 'failed') => claims.list({ status, limit: 5 });
    await waitFor('a claim', async () => {
      await claims.process().catch(() => {});
      return (await list('sending')).length === 1;
    });
    const [first] = await list('sending');
    if (!first) throw new Error('there is no claim');
    const entry = async () => {
      const [row] = await outbox.list('waiting', 5);
      if (!row) throw new Error('the claim has no entry');
      return row;
    };
    const before = await entry();
    await sql`update agent_usage_tx set status = 'dead'`.execute(store.db);
    await store.transaction((trx) => onUsageSettled(trx, { ...before, fault: 'claims 1105: exists' }, 'dead'));
    expect(await list('failed')).toHaveLength(1);
    expect((await Promise.all([claims.retry(first.id), claims.retry(first.id)])).sort()).toEqual([false, true]);
    const [renewed] = await list('sending');
    expect(renewed).toMatchObject({ id: first.id, credits: 3, claim_id: expect.not.stringMatching(first.claim_id) });
    expect(JSON.parse(renewed?.content ?? '')).toEqual({ ...JSON.parse(first.content), retryOf: first.claim_id });
    const after = await entry();
    expect(after.id).toBe(before.id);
    const bytes = Buffer.from(JSON.parse(after.message).value, 'base64').toString('latin1');
    expect([bytes.includes(renewed?.claim_id ?? '-'), bytes.includes(first.claim_id)]).toEqual([true, false]);
  },
);

test('a run that fails gives back what was set aside for it', async () => {
  await using model = await startOpenAiServer((response) => response.writeHead(400).end('{"error":{"message":"no"}}'));
  await using agent = await startTestAgent({
    env: {
      LLM_PROVIDER: 'openai',
      LLM_BASE_URL: model.url,
      LLM_API_KEY: 'key',
      LLM_MODEL: 'm',
      CREDITS_ENABLED: 'true',
      CREDITS_FREE: '10',
      CREDITS_RESERVATION: '5',
    },
  });
  const ana = await agent.createUser();
  const { body } = await ana.say(await ana.createSession(), 'hello');
  expect(body.message.status).toBe('failed');
  expect(model.requests.length).toBeGreaterThan(0);
  await expect
    .poll(async () => (await ana.send('GET', '/credits')).body)
    .toMatchObject({ balance: 10, held: 0, claims: [] });
});
