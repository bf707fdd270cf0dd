import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { createSelfSignedCertificate, createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { checkGateway, checkNode } from '../src/commands/check-gateway.ts';
import { listRoutes } from '../src/commands/list-routes.ts';
import { startFixtureNode } from './fixture-node.ts';
import { startScriptedNode } from './scripted-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

test('the routes of the node are listed in the order in which they win', async () => {
  await using node = await startFixtureNode();
  const routes = await listRoutes({ GATEWAY_UPSTREAMS: node.address, GATEWAY_LEGACY_PREFIXES: '/old' });
  expect(routes.slice(0, 2).map(({ template, grpcPath }) => [template, grpcPath])).toEqual([
    ['/fixture/item/params', '/fixture.v1.Query/Params'],
    ['/fixture/item/{id}', '/fixture.v1.Query/Item'],
  ]);
  await expect(listRoutes({ GATEWAY_UPSTREAMS: '127.0.0.1:1' })).rejects.toThrow(
    /cannot be read from 127\.0\.0\.1:1: .*\. Start the node, or name another with --upstream or GATEWAY_UPSTREAMS\.$/,
  );
});

test('the routes of a node behind TLS are listed with its authority', async () => {
  const { key, cert } = createSelfSignedCertificate();
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  await using node = await startFixtureNode({ credentials: grpc.ServerCredentials.createSsl(null, [pair]) });
  await using folder = await createTempDir();
  const GATEWAY_TLS_CA_FILE = join(folder.path, 'ca.pem');
  await writeFile(GATEWAY_TLS_CA_FILE, cert);
  const env = { GATEWAY_UPSTREAMS: `tls://${node.address}` };
  expect((await listRoutes({ ...env, GATEWAY_TLS_CA_FILE })).length).toBeGreaterThan(10);
  await expect(listRoutes({ ...env, GATEWAY_TLS_CA_FILE: '/none' })).rejects.toThrow('GATEWAY_TLS_CA_FILE: /none');
});

test('a check compares bytes and status at one height', async () => {
  await using node = await startFixtureNode();
  await using odd = await startFixtureNode({
    reply: (call) => {
      if (call.method === 'Params') return { code: 12, message: 'not here' };
      return { message: call.method === 'Box' ? Buffer.from([10, 1, 120]) : call.request };
    },
  });
  await using ours = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  await using theirs = await startTestGateway({ GATEWAY_UPSTREAMS: odd.address });
  const templates = [
    '/fixture/item/params',
    '/fixture/item/{id}',
    '/fixture/box/{id}',
    '/fixture/{id=shelves/*/books/*}/pages',
  ];
  const rows = await checkGateway({ own: ours.url, other: theirs.url, templates, values: { id: 'a b' } });
  expect(rows).toEqual([
    { path: '/fixture/item/params', own: 200, other: 501, verdict: 'status differs' },
    { path: '/fixture/item/a%20b', own: 200, other: 200, verdict: 'same' },
    { path: '/fixture/box/a%20b', own: 200, other: 200, verdict: 'bytes differ' },
    { path: '/fixture/a%20b/pages', own: 404, other: 404, verdict: 'same' },
  ]);
  expect(odd.calls.at(-1)?.metadata.get('x-cosmos-block-height')).toEqual(['100']);
  const [down] = await checkGateway({
    own: ours.url,
    other: 'http://127.0.0.1:1',
    templates: ['/fixture/rest/{id=**}'],
  });
  expect(down).toEqual({ path: '/fixture/rest/palaver-check', own: 200, other: 'unreachable', verdict: 'unreachable' });
});

test.each([200, 301, 403, 404, 405])('a web server that answers %i is not a node', async (status) => {
  await using server = await startScriptedNode((stream) => {
    stream.respond({ ':status': status, 'content-type': 'text/html' }, { endStream: true });
  });
  expect(await checkNode(server.address)).toContain('the node answered with');
});

test('a node without reflection is usable with descriptors only', async () => {
  await using none = await startFixtureNode({ reflection: 'none' });
  expect(await checkNode(none.address)).toContain('GATEWAY_DESCRIPTORS is needed');
  expect(await checkNode(none.address, { hasDescriptors: true })).toBeUndefined();
  await using old = await startFixtureNode({ reflection: 'v1alpha' });
  expect(await checkNode(old.address)).toBeUndefined();
});
