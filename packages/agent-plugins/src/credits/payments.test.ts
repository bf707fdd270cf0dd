import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGatewayClient } from '@palaver/protocol';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, it } from 'vitest';
import { createLedger } from './credits-ledger.ts';
import { type CreditsDatabase, creditsMigrations } from './credits-schema.ts';
import { createPaymentWatch } from './payments.ts';

const address = 'ixo1to';

/** A node at the wire whose index finds a payment of 100uixo so many blocks after it was included. */
async function startLateNode(lags: { height: number; lag: number }[]) {
  const node = { height: 1_000 };
  const server = createServer((request, response) => {
    const reply = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (request.url?.includes('/blocks/latest'))
      return reply({ block: { header: { chain_id: 'test', height: String(node.height) } } });
    const { searchParams } = new URL(request.url ?? '', 'http://node');
    const [, from = 0, to = 0] = /height>=(\d+) AND tx.height<=(\d+)/.exec(searchParams.get('query') ?? '') ?? [];
    const found = lags.filter(
      ({ height, lag }) => height >= Number(from) && height <= Number(to) && node.height >= height + lag,
    );
    const attributes = Object.entries({ recipient: address, sender: 'ixo1from', amount: '100uixo', msg_index: '0' });
    const events = [{ type: 'transfer', attributes: attributes.map(([key, value]) => ({ key, value })) }];
    return reply({
      txs: found.map(() => ({ body: { memo: 'top-up did:x:ana' } })),
      tx_responses: found.map(({ height }) => ({
        height: String(height),
        txhash: `HASH${height}`,
        code: 0,
        codespace: '',
        raw_log: '',
        events,
      })),
      total: String(found.length),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { node, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}

it('books what a node finds long after its block, each payment once', async () => {
  await using database = await createTestDatabase('sqlite');
  const lags = [0, 3, 20, 300, 9_000].map((lag, index) => ({ height: 1_001 + index, lag }));
  await using chain = await startLateNode(lags);
  const store = await openStore<CreditsDatabase>(database.url);
  await store.migrate('agent-credits', creditsMigrations);
  const ledger = createLedger(store, {
    free: 0,
    freePerClient: 0,
    reservation: 1,
    claim: 1,
    hashClient: (client) => client,
    referenceOf: (did) => did,
  });
  const watch = createPaymentWatch({
    store,
    ledger,
    ownDids: [],
    gateway: createGatewayClient({ url: chain.url }),
    terms: { address, price: { denom: 'uixo', amount: 100n }, subscription: undefined },
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const advance = async (blocks: number) => {
    chain.node.height += blocks;
    while (!(await watch.step()));
    return (await ledger.account('did:x:ana')).balance;
  };
  await advance(0);
  const balances: number[] = [];
  for (let block = 0; block < 10; block += 1) balances.push(await advance(1));
  expect(balances.at(-1)).toBe(2);
  expect(await advance(60)).toBe(3);
  expect(await advance(700)).toBe(4);
  expect(await advance(17_000)).toBe(5);
  expect(await advance(40_000)).toBe(5);
  await store.close();
});
