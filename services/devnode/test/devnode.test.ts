import { join } from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { createLogger } from '@palaver/service-kit';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startDevnode } from '../src/main.ts';
import { createNodeClient } from './node-client.ts';
import { startTestNode } from './start-test-node.ts';

const logger = createLogger({ name: 'devnode', level: 'silent' });
const main = join(import.meta.dirname, '../src/main.ts');
const entityService = 'ixo.entity.v1beta1.Query';

test('the running agent is an entity with its key, addresses, model and price', async () => {
  const agent = {
    did: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
    entityDid: 'did:ixo:entity:00112233445566778899aabbccddeeff',
    name: 'Ada',
    apiUrl: 'http://127.0.0.1:4711',
    socketUrl: 'http://127.0.0.1:4711',
    model: 'claude',
    price: { denom: 'uixo', amount: '5' },
  };
  const node = await startTestNode({ logger, agent });
  using client = await createNodeClient(node.address);
  const { json } = await client.call(entityService, 'Entity', { id: agent.entityDid });
  expect(json.entity).toMatchObject({ id: agent.entityDid, type: 'oracle' });
  const document = json.iidDocument as { service: JsonObject[]; verificationMethod: JsonObject[] };
  expect(document.service.map(({ type, serviceEndpoint }) => [type, serviceEndpoint])).toEqual([
    ['oracleService', agent.apiUrl],
    ['wsService', agent.socketUrl],
  ]);
  expect(document.verificationMethod[0]).toMatchObject({ publicKeyMultibase: agent.did.slice(8) });
  const byKey = await client.call('ixo.iid.v1beta1.Query', 'IidDocument', { id: agent.did });
  expect(byKey.json.iidDocument).toMatchObject({ id: agent.did });
  await node.close();
});

test('many nodes run beside each other and agree on the height; one of them ends without the others', async () => {
  const clock = () => Date.UTC(2026, 0, 1);
  const nodes = await Promise.all([1, 2, 3].map(() => startTestNode({ logger, clock })));
  expect(new Set(nodes.map(({ port }) => port)).size).toBe(3);
  expect(new Set(nodes.map((node) => node.latestHeight())).size).toBe(1);
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('three nodes');
  await first.close();
  using gone = await createNodeClient(first.address);
  expect((await gone.call(entityService, 'Params')).code).toBe(status.UNAVAILABLE);
  using here = await createNodeClient(second.address);
  expect((await here.call(entityService, 'Params')).code).toBe(status.OK);
  await Promise.all([second.close(), third.close()]);
});

test('a client finds the node again after a restart on its port', async () => {
  const first = await startTestNode({ logger });
  using client = await createNodeClient(first.address);
  expect((await client.call(entityService, 'Params')).code).toBe(status.OK);
  await first.close();
  const second = await startTestNode({ logger, port: first.port });
  await waitFor('the client to be back', async () => (await client.call(entityService, 'Params')).code === status.OK);
  await second.close();
});

test('as a program it says what it is for, serves, and exits with status 0 on SIGTERM', async () => {
  const port = await freePort();
  const env = { PORT: String(port), DEVNODE_BLOCK_MS: '1' };
  await using dir = await createTempDir();
  const child = startProcess(process.execPath, [main], { env, cwd: dir.path });
  await child.printed('for development only');
  using client = await createNodeClient(`127.0.0.1:${port}`);
  const { json, header } = await client.call(entityService, 'EntityList', { pagination: { limit: '1' } });
  expect(json.entities).toHaveLength(1);
  expect(Number(header['x-cosmos-block-height'])).toBeGreaterThan(1_000_000_000);
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});

test('killed and started again it is as before', async () => {
  const port = await freePort();
  await using dir = await createTempDir();
  const start = async () => {
    const child = startProcess(process.execPath, [main], { env: { PORT: String(port) }, cwd: dir.path });
    await child.printed('for development only');
    return child;
  };
  const first = await start();
  using client = await createNodeClient(`127.0.0.1:${port}`);
  const before = await client.call(entityService, 'EntityList');
  first.kill('SIGKILL');
  await first.exited;
  expect((await client.call(entityService, 'EntityList')).code).toBe(status.UNAVAILABLE);
  const second = await start();
  const after = await waitFor('an answer', async () => {
    const outcome = await client.call(entityService, 'EntityList');
    return outcome.code === status.OK ? outcome : undefined;
  });
  expect(after.json).toEqual(before.json);
  expect(Number(after.header['x-cosmos-block-height'])).toBeGreaterThanOrEqual(
    Number(before.header['x-cosmos-block-height']),
  );
  second.kill();
  await second.exited;
});

test.each([
  [{ PORT: 'x', DEVNODE_BLOCK_MS: '0' }, ['PORT="x"', 'DEVNODE_BLOCK_MS="0"']],
  [{ PORT: '0', DEVNODE_SEED: './nowhere' }, ['The seed in ./nowhere is not valid']],
])('a start with %j is refused in plain words', async (env, expected) => {
  await using dir = await createTempDir();
  const child = startProcess(process.execPath, [main], { env, cwd: dir.path });
  expect(await child.exited).toBe(1);
  for (const text of expected) expect(child.output()).toContain(text);
  expect(child.output()).not.toContain('    at ');
});

test('a port that is taken is reported with the name of its variable', async () => {
  const node = await startTestNode({ logger });
  const env = { DEVNODE_PORT: String(node.port), LOG_LEVEL: 'silent' };
  await expect(startDevnode(env, { names: { PORT: 'DEVNODE_PORT' } })).rejects.toThrow(
    `Port ${node.port} is already in use; stop the other program or set DEVNODE_PORT to another port.`,
  );
  await node.close();
});
