import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createGatewayClient } from '../src/gateway-client.ts';
import { readTransfers } from '../src/read-chain.ts';

/** A node with so many payments, each of which it prints with so many bytes; `known`: those that it has indexed for a page. */
async function startNode(
  count: number,
  bytesOf: (index: number) => number,
  known: (page: number) => { indexed: number; total: number } = () => ({ indexed: count, total: count }),
) {
  const limits: number[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://node');
    const [page, limit] = [Number(searchParams.get('page')), Number(searchParams.get('limit'))];
    limits.push(limit);
    const { indexed, total } = known(page);
    const found = Array.from({ length: indexed }, (_, index) => index).slice((page - 1) * limit, page * limit);
    const attributes = Object.entries({ recipient: 'ixo1to', sender: 'ixo1from', amount: '7uixo', msg_index: '0' });
    const events = [{ type: 'transfer', attributes: attributes.map(([key, value]) => ({ key, value })) }];
    const answer = {
      txs: found.map((index) => ({ body: { memo: `payment ${index}` } })),
      tx_responses: found.map((index) => ({
        ...{
          height: String(index),
          txhash: `HASH${index}`,
          code: 0,
          codespace: '',
          raw_log: 'x'.repeat(bytesOf(index)),
        },
        events,
      })),
      total: String(total),
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const gateway = createGatewayClient({ url: `http://127.0.0.1:${port}` });
  return { gateway, limits, [Symbol.asyncDispose]: async () => void server.close() };
}

test.each([
  ['a page', () => 165_000, 50],
  ['one transaction', (index: number) => (index === 107 ? 17_000_000 : 10), 1],
])(
  'where %s is too large for one answer, smaller pages are read, each payment once',
  async (_what, bytesOf, smallest) => {
    await using node = await startNode(120, bytesOf);
    const read = await readTransfers(node.gateway, { address: 'ixo1to', from: 1, to: 500 });
    if (!read.ok) throw new Error(read.message);
    expect(read.transfers.map(({ memo }) => memo)).toEqual(
      Array.from({ length: 120 }, (_, index) => `payment ${index}`),
    );
    expect(Math.min(...node.limits)).toBe(smallest);
  },
);

test.each([
  ['an empty page', (page: number) => ({ indexed: page === 1 ? 150 : 0, total: 150 })],
  [
    'a page of a node that has indexed less',
    (page: number) => (page === 1 ? { indexed: 150, total: 150 } : { indexed: 90, total: 90 }),
  ],
  ['a page that lacks some', (page: number) => ({ indexed: page === 1 ? 150 : 140, total: 150 })],
])('%s is not the end where another has said that there are more', async (_what, known) => {
  await using node = await startNode(150, () => 10, known);
  const read = await readTransfers(node.gateway, { address: 'ixo1to', from: 1, to: 500 });
  expect(read).toMatchObject({ ok: false, kind: 'unavailable' });
});
