// Transactions over HTTP, against a node that has the transaction service at the wire.
import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { type NodeReply, startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const { file: cosmosFiles } = fromBinary(
  FileDescriptorSetSchema,
  readFileSync(new URL('cosmos.binpb', import.meta.url)),
);

function startTxNode(reply?: (method: string, request: Buffer) => NodeReply | undefined) {
  return startFixtureNode({
    files: () => cosmosFiles,
    reply: ({ method, request }) => reply?.(method, request) ?? { message: new Uint8Array() },
  });
}

const post = (gateway: TestGateway, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const txs = '/cosmos/tx/v1beta1/txs';

test('a transaction is sent as the client signed it, and never kept or repeated', async () => {
  const sent: string[] = [];
  await using node = await startTxNode((method, request) => {
    if (method !== 'BroadcastTx') return undefined;
    const reader = new BinaryReader(request);
    reader.tag();
    sent.push(Buffer.from(reader.bytes()).toString());
    // TxResponse { height, txhash }
    const response = new BinaryWriter().uint32(8).int64(7).uint32(18).string('ABCD').finish();
    return { message: new BinaryWriter().uint32(10).bytes(response).finish() };
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_TX: 'true' });
  const body = { tx_bytes: Buffer.from('signed').toString('base64'), mode: 'BROADCAST_MODE_SYNC' };
  for (let round = 0; round < 2; round += 1) {
    const response = await post(gateway, txs, body);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await response.json()).toMatchObject({ tx_response: { height: '7', txhash: 'ABCD', code: 0 } });
  }
  expect(sent).toEqual(['signed', 'signed']);
  const simulated = await post(gateway, '/cosmos/tx/v1beta1/simulate', { tx_bytes: 'AQID' });
  expect(await simulated.json()).toEqual({ gas_info: null, result: null });
});

test('a body that does not fit is 400, too large 413, another path 404 or 405', async () => {
  await using node = await startTxNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_TX: 'true' });
  for (const body of ['{broken', '[]', '"x"', { tx_bytes: '%' }, { tx_bytes: 5 }, { mode: 'NOPE' }]) {
    const response = await post(gateway, txs, body);
    expect([body, response.status]).toEqual([body, 400]);
    expect(await response.json()).toMatchObject({ statusCode: 400, code: 3 });
  }
  expect((await post(gateway, txs, { tx_bytes: 'A'.repeat(1_100_000) })).status).toBe(413);
  expect((await post(gateway, '/cosmos/tx/v1beta1/nothing', {})).status).toBe(404);
  expect((await post(gateway, '/cosmos/tx/v1beta1/txs/abc', {})).status).toBe(405);
  expect((await post(gateway, txs, 'x', { 'content-type': 'text/plain' })).status).toBe(415);
  expect(node.calls.length).toBe(0);
});

test('a write that is lost on its way is not sent to another node', async () => {
  let calls = 0;
  const dying = () =>
    startTxNode(() => {
      calls += 1;
      process.nextTick(() => {
        for (const node of nodes) node.close();
      });
      return new Promise(() => undefined) as never;
    });
  const nodes = [await dying(), await dying()];
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: nodes.map(({ address }) => address).join(),
    GATEWAY_TX: 'true',
    GATEWAY_TIMEOUT_MS: '2000',
  });
  const response = await post(gateway, txs, { tx_bytes: 'AQID' });
  expect([503, 504]).toContain(response.status);
  expect(calls).toBe(1);
});

test('writes are limited like queries, and closed unless opened', async () => {
  await using node = await startTxNode();
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_TX: 'true',
    GATEWAY_RATE_LIMIT_PER_MINUTE: '5',
  });
  const statuses = [];
  for (let round = 0; round < 7; round += 1) statuses.push((await post(gateway, txs, { tx_bytes: 'AQID' })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  await using closed = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const refused = await post(closed, txs, { tx_bytes: 'AQID' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});
