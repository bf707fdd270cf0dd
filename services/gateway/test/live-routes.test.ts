import { fileURLToPath } from 'node:url';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import { createSelfSignedCertificate, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { parseProtoFiles } from '../src/descriptors/parse-proto-files.ts';
import { startFixtureNode } from './fixture-node.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

async function listPaths(gateway: TestGateway): Promise<string[]> {
  const { paths } = (await (await gateway.get('/openapi.json')).json()) as { paths: Record<string, object> };
  return Object.keys(paths);
}

test.each(['v1', 'v1alpha'] as const)('routes come from reflection %s', async (reflection) => {
  await using node = await startFixtureNode({ reflection });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  expect(await listPaths(gateway)).toHaveLength(12);
  expect((await gateway.get('/fixture/rest/a/b')).status).toBe(200);
});

test('a service that is listed without its files costs no other service its routes', async () => {
  await using node = await startFixtureNode({ ghosts: ['ghost.v1.Query'] });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  expect(await listPaths(gateway)).toHaveLength(12);
});

test.each([
  ['a FileDescriptorSet', path('fixture.binpb')],
  ['a folder of .proto files', path('protos')],
])('routes come from %s', async (_name, descriptors) => {
  await using node = await startFixtureNode({ reflection: 'none' });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_DESCRIPTORS: descriptors });
  expect(await listPaths(gateway)).toHaveLength(12);
  expect(await (await gateway.get('/fixture/thing/x/of/y')).json()).toMatchObject({ id: 'x', owner: { name: 'y' } });
});

test('descriptors that cannot be read stop the start, and are named', async () => {
  const start = startTestGateway({ GATEWAY_DESCRIPTORS: path('no-such-folder') });
  await expect(start).rejects.toThrow(/^GATEWAY_DESCRIPTORS: .*no-such-folder/);
});

test('a node whose routes could not be read yet is no healthy gateway', async () => {
  await using node = await startFixtureNode({ reflection: 'none' });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address }, { ready: false });
  const health = await gateway.get('/health');
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ status: 'down', routes: 0, upstreams: [{ healthy: true }] });
});

test('whoever meets the gateway once it listens meets its routes', async () => {
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address }, { ready: false });
  expect((await gateway.get('/fixture/item/1')).status).toBe(200);
});

test('without any node there are no routes, and health says so', async () => {
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: '127.0.0.1:1' }, { ready: false });
  const response = await gateway.get('/fixture/item/1');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ code: 14, reason: 'UNAVAILABLE' });
  const health = await gateway.get('/health');
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({ status: 'down', height: null, routes: 0 });
});

test('a node that comes back as another version changes the routes without a restart', async () => {
  const text = (name: string) => `syntax = "proto3"; package up.v1; message R { string id = 1; }
    service Query { rpc ${name}(R) returns (R) { option (google.api.http).get = "/up/${name.toLowerCase()}/{id}"; } }`;
  const files = (name: string) => () => parseProtoFiles([{ name: 'up.proto', text: text(name) }]);
  const old = await startFixtureNode({ files: files('Old') });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: old.address });
  expect((await gateway.get('/up/old/1')).status).toBe(200);
  expect((await gateway.get('/up/new/1')).status).toBe(404);
  old.close();
  await waitFor('the loss', async () => (await gateway.get('/health')).status === 503);
  expect(await listPaths(gateway)).toEqual(['/up/old/{id}']);
  await using _new = await startFixtureNode({ port: old.port, files: files('New') });
  await waitFor('the new routes', async () => (await gateway.get('/up/new/1')).status === 200);
  expect((await gateway.get('/up/old/1')).status).toBe(404);
  expect(await listPaths(gateway)).toEqual(['/up/new/{id}']);
});

test('an Any type outside the service files is looked up by symbol', async () => {
  const text = 'syntax = "proto3"; package hidden.v1; message Secret { string word = 1; uint64 size = 2; }';
  const types = `syntax = "proto3"; package holder.v1; import "google/api/annotations.proto"; import "google/protobuf/any.proto";
    message None {} message Holder { google.protobuf.Any held = 1; }
    service Query { rpc Held(None) returns (Holder) { option (google.api.http).get = "/holder/held"; } }`;
  const word = new BinaryWriter().uint32(10).string('sesame').finish();
  const any = (type: string) => new BinaryWriter().uint32(10).string(type).uint32(18).bytes(word).finish();
  let held = any('/hidden.v1.Secret');
  await using holder = await startFixtureNode({
    hidden: parseProtoFiles([{ name: 'hidden.proto', text }]),
    files: () => parseProtoFiles([{ name: 'holder.proto', text: types }]),
    reply: () => ({ message: new BinaryWriter().uint32(10).bytes(held).finish() }),
  });
  await using other = await startTestGateway({ GATEWAY_UPSTREAMS: holder.address, GATEWAY_CACHE_TTL_MS: '0' });
  const json = '{"held":{"@type":"/hidden.v1.Secret","word":"sesame","size":"0"}}';
  expect(await (await other.get('/holder/held')).text()).toBe(json);
  expect(await (await other.get('/holder/held?json=proto3')).json()).toEqual({
    held: { '@type': '/hidden.v1.Secret', word: 'sesame' },
  });
  held = any('/hidden.v1.Nowhere');
  const response = await other.get('/holder/held');
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ code: 2, message: 'unable to resolve type URL /hidden.v1.Nowhere' });
});

/** A node whose answers hold `Any`s of types that only reflection by symbol finds. */
async function startHolder(held: () => Uint8Array[], hidden: FileDescriptorProto[]) {
  const types = `syntax = "proto3"; package holder.v1; import "google/api/annotations.proto"; import "google/protobuf/any.proto";
    message Ask { string id = 1; } message Holder { repeated google.protobuf.Any held = 1; }
    service Query { rpc Held(Ask) returns (Holder) { option (google.api.http).get = "/holder/{id}"; } }`;
  return startFixtureNode({
    hidden,
    files: () => parseProtoFiles([{ name: 'holder.proto', text: types }]),
    reply: () => ({ message: Buffer.concat(held().map((any) => new BinaryWriter().uint32(10).bytes(any).finish())) }),
  });
}

const anyOf = (type: string) =>
  new BinaryWriter().uint32(10).string(type).uint32(18).bytes(new BinaryWriter().uint32(10).string('x').finish());

test('a type that is not known yet is asked for once, whoever meets it, and costs no kept answer', async () => {
  const text = 'syntax = "proto3"; package hidden.v1; message Secret { string word = 1; }';
  let type = '/hidden.v1.Secret';
  await using node = await startHolder(() => [anyOf(type).finish()], parseProtoFiles([{ name: 'hidden.proto', text }]));
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '60000' });
  node.asked.length = 0;
  const ask = (prefix: string) =>
    Promise.all(Array.from({ length: 100 }, (_, round) => gateway.get(`/holder/${prefix}${round}`)));
  expect(new Set((await ask('known')).map(({ status }) => status))).toEqual(new Set([200]));
  expect(node.asked).toEqual(['hidden.v1.Secret']);
  const again = await gateway.get('/holder/known7');
  expect(again.headers.get('x-cache')).toBe('hit');

  type = '/hidden.v1.Nowhere';
  node.asked.length = 0;
  expect(new Set((await ask('unknown')).map(({ status }) => status))).toEqual(new Set([500]));
  await ask('later');
  expect(node.asked.filter((name) => name === 'hidden.v1.Nowhere').length).toBe(1);
});

const hiddenTypes = (count: number) => {
  const names = Array.from({ length: count }, (_, index) => `T${index}`);
  const files = parseProtoFiles(
    names.map((name) => ({
      name: `${name}.proto`,
      text: `syntax = "proto3"; package hidden.v1; message ${name} { string word = 1; }`,
    })),
  );
  return { names: names.map((name) => `hidden.v1.${name}`), files };
};

test('a first answer with many unknown types is whole, and each is asked for once', async () => {
  const { names, files } = hiddenTypes(40);
  await using node = await startHolder(() => [...names, ...names].map((name) => anyOf(`/${name}`).finish()), files);
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '0' });
  node.asked.length = 0;
  const replies = await Promise.all(Array.from({ length: 10 }, (_, round) => gateway.get(`/holder/${round}`)));
  expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
  const [first] = await Promise.all(replies.map((reply) => reply.json() as Promise<{ held: { word: string }[] }>));
  expect(first?.held.map(({ word }) => word)).toEqual(Array(80).fill('x'));
  expect(node.asked.sort()).toEqual([...names].sort());
});

test('types that the node lists are known before the first query', async () => {
  const { names, files } = hiddenTypes(30);
  const listing = `syntax = "proto3"; package cosmos.base.reflection.v1beta1; message M { repeated string names = 1; }
    service ReflectionService { rpc ListAllInterfaces(M) returns (M); rpc ListImplementations(M) returns (M); }`;
  const texts = (...values: string[]) =>
    Buffer.concat(values.map((value) => new BinaryWriter().uint32(10).string(value).finish()));
  const types = `syntax = "proto3"; package holder.v1; import "google/api/annotations.proto"; import "google/protobuf/any.proto";
    message Ask { string id = 1; } message Holder { repeated google.protobuf.Any held = 1; }
    service Query { rpc Held(Ask) returns (Holder) { option (google.api.http).get = "/holder/{id}"; } }`;
  await using node = await startFixtureNode({
    hidden: files,
    files: () =>
      parseProtoFiles([
        { name: 'holder.proto', text: types },
        { name: 'listing.proto', text: listing },
      ]),
    reply: ({ method, request }) => {
      if (method === 'ListAllInterfaces') return { message: texts('first', 'second') };
      const half = request.toString().includes('first') ? names.slice(0, 20) : names.slice(10);
      if (method === 'ListImplementations') return { message: texts(...half.map((name) => `/${name}`)) };
      return {
        message: Buffer.concat(
          names.map((name) =>
            new BinaryWriter()
              .uint32(10)
              .bytes(anyOf(`/${name}`).finish())
              .finish(),
          ),
        ),
      };
    },
  });
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  await waitFor('the types', () => names.every((name) => node.asked.includes(name)));
  node.asked.length = 0;
  expect((await gateway.get('/holder/1')).status).toBe(200);
  expect(node.asked).toEqual([]);
});

test('routes never come from nodes of two versions, whichever answers', async () => {
  const services = Array.from({ length: 12 }, (_, index) => `S${index}`);
  const version = (name: string) => () =>
    parseProtoFiles([
      { name: 'shared.proto', text: `syntax = "proto3"; package up.v1; message ${name} { string id = 1; }` },
      ...services.map((service) => ({
        name: `${service}.proto`,
        text: `syntax = "proto3"; package up.v1; import "shared.proto"; import "google/api/annotations.proto";
          service ${service} { rpc Get(${name}) returns (${name}) {
            option (google.api.http).get = "/up/${name}/${service}/{id}"; } }`,
      })),
    ]);
  await using old = await startFixtureNode({ files: version('Old') });
  await using recent = await startFixtureNode({ files: version('New') });
  for (let round = 0; round < 5; round += 1) {
    await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: `${old.address},${recent.address}` });
    const names = new Set((await listPaths(gateway)).map((each) => each.split('/')[2]));
    expect([...names]).toHaveLength(1);
    expect(await listPaths(gateway)).toHaveLength(services.length);
  }
});

test('a node behind TLS is reached with its authority, and only so', async () => {
  const { key, cert } = createSelfSignedCertificate();
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  await using node = await startFixtureNode({ credentials: grpc.ServerCredentials.createSsl(null, [pair]) });
  const env = { GATEWAY_UPSTREAMS: `tls://${node.address}` };
  await using gateway = await startTestGateway(env, { ca: cert });
  expect((await gateway.get('/fixture/item/1')).status).toBe(200);
  await using stranger = await startTestGateway(env, { ready: false });
  expect((await stranger.get('/fixture/item/1')).status).toBe(503);
});
