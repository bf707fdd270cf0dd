// A payment reaches its recipient once, whatever nodes say about bytes that another node may have.
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGatewayClient } from '../src/gateway-client.ts';
import { toSend } from '../src/messages.ts';
import type { OutboxRow } from '../src/outbox-table.ts';
import { broadcastTx, readAccount, readLatestBlock, readTx } from '../src/read-chain.ts';
import type { SigningAccount } from '../src/signing-account.ts';
import { createTxOutbox } from '../src/tx-outbox.ts';
import { createAccount, type Handle, migrations, startChain, startProxy, type TestChain } from './start-chain.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
let chain: TestChain;
beforeAll(async () => {
  chain = await startChain(engines.length, 1_000_000);
});
afterAll(() => chain.close());

const notFound = { status: 404, body: JSON.stringify({ code: 5, message: 'tx not found' }) };
const isLookup = (url: string) => /^\/cosmos\/tx\/v1beta1\/txs\/\w/.test(url);
const isSearch = (url: string) => /^\/cosmos\/tx\/v1beta1\/txs\?/.test(url);
const refusal = (code: number, log = 'refused by the test') => {
  const response = { height: '0', txhash: '', codespace: 'sdk', code, raw_log: log };
  return { status: 200, body: JSON.stringify({ tx_response: response }) };
};

describe.each(engines.map((engine, index) => [engine, index] as const))('on %s', (engine, index) => {
  async function setUp(handle: Handle) {
    const cleanup = new AsyncDisposableStack();
    const database = cleanup.use(await createTestDatabase(engine));
    const proxy = cleanup.use(await startProxy(chain.gatewayUrl, handle));
    const store = await openStore<Record<string, OutboxRow>>(database.url);
    cleanup.defer(() => store.close());
    await store.migrate('test', migrations);
    const account = chain.payers[index] as SigningAccount;
    const receiver = (await createAccount()).address;
    const gateway = createGatewayClient({ url: proxy.url });
    const outbox = createTxOutbox({ store, service: 'test', account, logger, gateway });
    const direct = createGatewayClient({ url: chain.gatewayUrl });
    return {
      account,
      direct,
      outbox,
      async order(id: string, amount: number) {
        const coins = [{ denom: 'uixo', amount: String(amount) }];
        const message = toSend({ from: account.address, to: receiver, coins });
        await store.transaction((trx) => outbox.add(trx, { id, message }, Date.now()));
      },
      read: (id: string) => store.db.selectFrom('test_tx').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
      /** Ends the waits between two attempts. */
      hurry: () => store.db.updateTable('test_tx').set({ next_at: 0 }).execute(),
      async stepUntil(id: string, status: OutboxRow['status']) {
        await waitFor(`${id} to be ${status}`, async () => {
          await outbox.step();
          return (await this.read(id)).status === status;
        });
      },
      async received() {
        const path = `/cosmos/bank/v1beta1/balances/${receiver}/by_denom`;
        const result = await direct.get(path, { query: { denom: 'uixo' } });
        return result.ok ? (result.value as { balance: { amount: string } }).balance.amount : result.message;
      },
      [Symbol.asyncDispose]: () => cleanup.disposeAsync(),
    };
  }

  test.each([13, 20, 30])(
    'a node that refuses a repeated sending with code %i causes no second payment',
    async (code) => {
      let sends = 0;
      await using set = await setUp(async ({ method, url }, pass) => {
        if (method === 'POST') sends += 1;
        if (method === 'POST' && sends === 2) return refusal(code, 'refused\u0000by the test');
        return isLookup(url) && sends < 3 ? notFound : pass();
      });
      await set.order('payment:1', 700);
      for (let step = 0; step < 2; step += 1) await set.outbox.step();
      const refused = { status: 'signed', attempts: 0, resent: 1, refusal: `sdk ${code}: refusedby the test` };
      expect(await set.read('payment:1')).toMatchObject(refused);
      await set.hurry();
      await set.stepUntil('payment:1', 'included');
      expect(await set.received()).toBe('700');
    },
  );

  test('a refusal of the first sending gives every entry of its batch a next attempt at once', async () => {
    let sends = 0;
    await using set = await setUp(async ({ method }, pass) => {
      if (method === 'POST') sends += 1;
      return method === 'POST' && sends === 1 ? refusal(20) : pass();
    });
    await set.order('payment:1', 700);
    await set.order('payment:2', 40);
    await set.outbox.step();
    for (const id of ['payment:1', 'payment:2'])
      expect(await set.read(id)).toMatchObject({ status: 'waiting', alone: 1, hash: null, sequence: null });
    await set.stepUntil('payment:2', 'included');
    await set.stepUntil('payment:1', 'included');
    expect(await set.received()).toBe('740');
  });

  test('a payment that nodes cannot find after its timeout is not made again, and stops no other', async () => {
    let isIndexed = false;
    await using set = await setUp(async ({ url }, pass) => {
      if (isIndexed) return pass();
      if (isLookup(url) && url.includes(String(firstHash))) return notFound;
      return isSearch(url) ? { status: 200, body: JSON.stringify({ txs: [], tx_responses: [], total: '0' }) } : pass();
    });
    let firstHash: string | null = 'none';
    await set.order('payment:1', 700);
    await set.outbox.step();
    firstHash = (await set.read('payment:1')).hash;
    await set.stepUntil('payment:1', 'unclear');
    expect((await set.read('payment:1')).fault).toContain(`no node has transaction ${firstHash}`);
    await set.order('payment:2', 40);
    await set.stepUntil('payment:2', 'included');
    expect(await set.received()).toBe('740');
    isIndexed = true;
    await set.hurry();
    await set.stepUntil('payment:1', 'included');
    expect(await set.received()).toBe('740');
  });

  test('an operator decides about an unclear payment, and what a node finds counts more', async () => {
    let hides: 'all' | 'search' | 'nothing' = 'nothing';
    await using set = await setUp(async ({ url }, pass) => {
      if (hides === 'all' && isLookup(url)) return undefined;
      if (hides !== 'nothing' && isLookup(url)) return notFound;
      if (hides !== 'nothing' && isSearch(url))
        return { status: 200, body: JSON.stringify({ txs: [], tx_responses: [], total: '0' }) };
      return pass();
    });
    const orderUnclear = async (id: string, amount: number) => {
      hides = 'search';
      await set.order(id, amount);
      await set.stepUntil(id, 'unclear');
      return String((await set.read(id)).hash);
    };
    const first = await orderUnclear('payment:1', 700);
    expect(await set.outbox.lookUp(first)).toMatchObject([{ id: 'payment:1', status: 'unclear' }]);
    hides = 'all';
    await expect(set.outbox.decide(first, 'included')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    hides = 'search';
    expect(await set.outbox.decide(first, 'included')).toMatchObject([{ status: 'included', fault: null }]);
    expect(await set.outbox.decide(first, 'send-again')).toEqual([]);
    const second = await orderUnclear('payment:2', 40);
    hides = 'nothing';
    expect(await set.outbox.decide(second, 'send-again')).toMatchObject([{ status: 'included' }]);
    expect(await set.received()).toBe('740');
    // The operator's decision counts more than the nodes' answers: it is sent again.
    const third = await orderUnclear('payment:3', 5);
    expect(await set.outbox.decide(third, 'send-again')).toMatchObject([
      { status: 'waiting', hash: null, attempts: 0 },
    ]);
    hides = 'nothing';
    await set.hurry();
    await set.stepUntil('payment:3', 'included');
    expect(await set.received()).toBe('750');
  });

  test('a payment whose sequence another transaction of the account used up is made after all', async () => {
    let isLost = true;
    await using set = await setUp(async ({ method }, pass) => (method === 'POST' && isLost ? undefined : pass()));
    await set.order('payment:1', 700);
    await set.outbox.step();
    const [latest, own] = [await readLatestBlock(set.direct), await readAccount(set.direct, set.account.address)];
    if (!latest.ok || !own.ok) throw new Error('the chain can be read');
    const coins = [{ denom: 'uixo', amount: '1' }];
    const { bytes, hash } = await set.account.sign({
      messages: [toSend({ from: set.account.address, to: set.account.address, coins })],
      memo: '',
      chainId: latest.chainId,
      ...own,
      timeoutHeight: latest.height + 1_000,
    });
    await broadcastTx(set.direct, Buffer.from(bytes).toString('base64'));
    await waitFor('the other transaction', async () => (await readTx(set.direct, hash)).ok);
    isLost = false;
    await set.stepUntil('payment:1', 'waiting');
    await set.hurry();
    await set.stepUntil('payment:1', 'included');
    expect(await set.received()).toBe('700');
  });
});
