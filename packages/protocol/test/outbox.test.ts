// Against a real node and gateway, through a proxy that loses requests and answers.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGatewayClient } from '../src/gateway-client.ts';
import { toSend } from '../src/messages.ts';
import { broadcastTx, readAccount, readLatestBlock, readTx } from '../src/read-chain.ts';
import { createSigningAccount, type SigningAccount } from '../src/signing-account.ts';
import { createTxOutbox } from '../src/tx-outbox.ts';
import { migrations, startChain, startProxy, type TestChain } from './start-chain.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const funds = 1_000_000;
let chain: TestChain;
beforeAll(async () => {
  chain = await startChain(engines.length + 3, funds);
});
afterAll(() => chain.close());

/** Loses one request in five before it is passed on, and one answer in five. */
async function startLossyProxy() {
  // A fixed sequence without a period that the requests of a step could fall into.
  let random = 1;
  const lost = { requests: 0, answers: 0 };
  const proxy = await startProxy(chain.gatewayUrl, async (_request, pass) => {
    random = (random * 16_807) % 2_147_483_647;
    const [losesRequest, losesAnswer] = [random % 5 === 2, random % 5 === 4];
    if (losesRequest) lost.requests += 1;
    const answer = losesRequest ? undefined : await pass();
    if (!losesAnswer) return answer;
    lost.answers += 1;
    return undefined;
  });
  return { ...proxy, lost };
}

describe.concurrent.each(engines.map((engine, index) => [engine, index] as const))('on %s', (engine, index) => {
  test('every message is on the chain once, whatever is lost and whichever instance dies', async () => {
    await using database = await createTestDatabase(engine);
    await using proxy = await startLossyProxy();
    const store = await openStore<Record<string, never>>(database.url);
    await store.migrate('test', migrations);
    const account = chain.payers[index] as SigningAccount;
    const settled: string[] = [];
    const start = () =>
      createTxOutbox({
        store,
        service: 'test',
        account,
        logger,
        batch: 7,
        gateway: createGatewayClient({ url: proxy.url }),
        async onSettled(_trx, row, outcome) {
          settled.push(`${row.id} ${outcome}`);
        },
      });
    const receiver = (await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 1 })).address;
    const ids = Array.from({ length: 25 }, (_, number) => `payment:${number}`);
    const first = start();
    for (const [number, id] of ids.entries()) {
      const message = toSend({
        from: account.address,
        to: receiver,
        coins: [{ denom: 'uixo', amount: String(number + 1) }],
      });
      // Twice: the id decides.
      for (let round = 0; round < 2; round += 1)
        await store.transaction((trx) => first.add(trx, { id, message }, number));
    }
    // One that the chain refuses spoils neither the others of its transaction nor itself for good.
    const tooMuch = toSend({ from: account.address, to: receiver, coins: [{ denom: 'uixo', amount: '999999999' }] });
    await store.transaction((trx) => first.add(trx, { id: 'payment:too-much', message: tooMuch }, 3));
    // Between two attempts, or in the middle of one.
    const listOpen = async () => [...(await first.list('waiting', 30)), ...(await first.list('signed', 30))];
    // Two instances at once; twice one is replaced as if it had been killed, with its lease.
    let instances = [first, start()];
    let rounds = 0;
    await waitFor('all to be settled', async () => {
      rounds += 1;
      if (rounds === 10 || rounds === 60) instances = [instances[1] as typeof first, start()];
      await Promise.allSettled(instances.map((outbox) => outbox.step()));
      return settled.length >= ids.length && (await listOpen())[0]?.fault?.startsWith('sdk ');
    });
    expect(settled.toSorted()).toEqual(ids.map((id) => `${id} included`).toSorted());
    const client = createGatewayClient({ url: chain.gatewayUrl });
    const result = await client.get(`/cosmos/bank/v1beta1/balances/${receiver}/by_denom`, { query: { denom: 'uixo' } });
    const sum = ids.reduce((total, _, number) => total + number + 1, 0);
    expect(result).toMatchObject({ ok: true, value: { balance: { amount: String(sum) } } });
    // Refused in its batch, where it is the fifth message, or alone.
    const refusal = `^sdk 5: failed to execute message; message index: [40]: spendable balance of ${account.address} is smaller than the amount$`;
    expect(await listOpen()).toMatchObject([
      { id: 'payment:too-much', fault: expect.stringMatching(new RegExp(refusal)) },
    ]);
    expect([proxy.lost.requests > 0, proxy.lost.answers > 0]).toEqual([true, true]);
    await store.close();
  });
});

test("a transaction goes to the node's own interface where that is named, and nothing is posted to the gateway", async () => {
  const posted: string[] = [];
  await using proxy = await startProxy(chain.gatewayUrl, async ({ method, url }, pass) => {
    if (method !== 'GET') posted.push(url);
    return pass();
  });
  const gateway = createGatewayClient({ url: proxy.url, node: chain.nodeAddress });
  const account = chain.payers.at(-1) as SigningAccount;
  const [latest, own] = [await readLatestBlock(gateway), await readAccount(gateway, account.address)];
  if (!latest.ok || !own.ok) throw new Error('the chain can be read');
  const to = (await createSigningAccount('7'.repeat(64), { fee: '0uixo', gas: 1 })).address;
  const message = toSend({ from: account.address, to, coins: [{ denom: 'uixo', amount: '5' }] });
  const { bytes, hash } = await account.sign({
    messages: [message],
    memo: '',
    chainId: latest.chainId,
    ...own,
    timeoutHeight: latest.height + 1_000,
  });
  const signed = Buffer.from(bytes).toString('base64');
  expect(await broadcastTx(gateway, signed)).toMatchObject({ ok: true, code: 0 });
  await waitFor('the block', async () => (await readTx(gateway, hash)).ok);
  expect(posted).toEqual([]);
  // A refusal of the node's first check is an answer; a node that is not there is a fault.
  expect(await broadcastTx(gateway, signed)).toMatchObject({ ok: true, code: expect.any(Number) });
  expect(await broadcastTx(gateway, '')).toMatchObject({ ok: false, kind: 'invalid' });
  const nowhere = createGatewayClient({ url: proxy.url, node: '127.0.0.1:1' });
  expect(await broadcastTx(nowhere, signed)).toMatchObject({
    ok: false,
    kind: expect.stringMatching(/unavailable|timeout/),
  });
});

test('a changed signing key begins with its own sequence, and what the old one had sent is followed as the old one’s', async () => {
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<Record<string, never>>(database.url);
  await store.migrate('test', migrations);
  const [old, next] = chain.payers.slice(engines.length) as [SigningAccount, SigningAccount];
  const settled: string[] = [];
  let isCut = false;
  await using proxy = await startProxy(chain.gatewayUrl, async ({ method }, pass) =>
    isCut && method === 'POST' ? undefined : pass(),
  );
  const open = (account: SigningAccount) =>
    createTxOutbox({
      store,
      service: 'test',
      account,
      logger,
      batch: 1,
      gateway: createGatewayClient({ url: proxy.url }),
      async onSettled(_trx, row, outcome) {
        settled.push(`${row.id} ${outcome}`);
      },
    });
  const pay = (account: SigningAccount, id: string) => {
    const message = toSend({ from: account.address, to: next.address, coins: [{ denom: 'uixo', amount: '1' }] });
    return store.transaction((trx) => open(account).add(trx, { id, message }, Date.now()));
  };
  const settle = (account: SigningAccount, count: number) =>
    waitFor(`${count} settled`, async () => {
      await open(account).step();
      return settled.length >= count;
    });
  for (const id of ['a', 'b']) await pay(old, id);
  await settle(old, 2);
  // Signed by the old key and lost on its way when the key is changed: its sequence is the old account's.
  isCut = true;
  await pay(old, 'c');
  await open(old).step();
  isCut = false;
  await pay(next, 'd');
  await settle(next, 4);
  expect(settled).toEqual(['a included', 'b included', 'c included', 'd included']);
  await store.close();
});

test('a credential that the gateway does not admit is a fault of the configuration', async () => {
  const server = createServer((request, response) => {
    const isRight = request.headers['x-api-key'] === 'right' && request.url === '/protocol/claims/params';
    response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const wrong = await createGatewayClient({ url }).get('/ixo/claims/params');
  expect(wrong).toMatchObject({ ok: false, kind: 'access', message: expect.stringContaining('GATEWAY_API_KEY') });
  const right = createGatewayClient({ url, apiKey: 'right', prefix: '/protocol' });
  expect((await right.get('/ixo/claims/params')).ok).toBe(true);
  server.close();
});
