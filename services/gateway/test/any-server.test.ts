// gRPC servers that are no Cosmos chain: proto2, editions, and what grpc-gateway 2 does in another way than 1.16.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { expect, onTestFinished, test } from 'vitest';
import { parseProtoFiles } from '../src/descriptors/parse-proto-files.ts';
import { type NodeOptions, startFixtureNode } from './fixture-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

const files = (text: string) => (): FileDescriptorProto[] => parseProtoFiles([{ name: 'server.proto', text }]);

/** A gateway without a cache before a server that answers with the request it was given. */
async function startGateway(
  text: string,
  { reply, env = {} }: Pick<NodeOptions, 'reply'> & { env?: Record<string, string> } = {},
) {
  const node = await startFixtureNode({ files: files(text), ...(reply && { reply }) });
  onTestFinished(() => node.close());
  const gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_CACHE_TTL_MS: '0', ...env });
  onTestFinished(() => gateway.server.close());
  const json = async (path: string) => (await gateway.get(path)).text();
  return { gateway, json };
}

const overlapping = `syntax = "proto3"; package o; message R { string id = 1; string rest = 2; } service Q {
  rpc One(R) returns (R) { option (google.api.http).get = "/o/{id}"; }
  rpc Two(R) returns (R) { option (google.api.http).get = "/o/{rest=**}"; } }`;

test('of routes that match alike the first registered answers, or the last where the server is made so', async () => {
  const { json } = await startGateway(overlapping);
  expect(await json('/o/x')).toBe('{"id":"x","rest":""}');
  const last = await startGateway(overlapping, { env: { GATEWAY_ROUTE_PRECEDENCE: 'last' } });
  expect(await last.json('/o/x')).toBe('{"id":"","rest":"x"}');
});

const groups = `syntax = "proto2"; package g; message R {
  optional group Inner = 1 { optional int32 a = 1; optional group Deep = 2 { optional string s = 1; } }
  repeated group Many = 3 { optional string s = 1; }
  optional string after = 4; }
  service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/g"; } }`;

test('groups of proto2 are read, printed and set by query parameters', async () => {
  const message = new BinaryWriter()
    .tag(1, WireType.StartGroup)
    .tag(1, WireType.Varint)
    .int32(5)
    .tag(2, WireType.StartGroup)
    .tag(1, WireType.LengthDelimited)
    .string('x')
    .tag(2, WireType.EndGroup)
    .tag(1, WireType.EndGroup)
    .tag(3, WireType.StartGroup)
    .tag(3, WireType.EndGroup)
    .tag(3, WireType.StartGroup)
    .tag(1, WireType.LengthDelimited)
    .string('y')
    .tag(3, WireType.EndGroup)
    // A second occurrence adds to the first.
    .tag(1, WireType.StartGroup)
    .tag(1, WireType.Varint)
    .int32(6)
    .tag(1, WireType.EndGroup)
    .tag(4, WireType.LengthDelimited)
    .string('z')
    .finish();
  const { json } = await startGateway(groups, { reply: () => ({ message }) });
  expect(await json('/g')).toBe('{"Inner":{"a":6,"Deep":{"s":"x"}},"Many":[{"s":null},{"s":"y"}],"after":"z"}');
  expect(await json('/g?json=proto3')).toBe('{"inner":{"a":6,"deep":{"s":"x"}},"many":[{},{"s":"y"}],"after":"z"}');
  const echo = await startGateway(groups);
  expect(await echo.json('/g?inner.a=3&inner.deep.s=q&after=z&json=proto3')).toBe(
    '{"inner":{"a":3,"deep":{"s":"q"}},"after":"z"}',
  );
});

const editions = `edition = "2023"; package e; import "google/protobuf/timestamp.proto"; message Inner { int32 a = 1; }
  message R { Inner inner = 1 [features.message_encoding = DELIMITED]; int32 implicit = 2 [features.field_presence = IMPLICIT];
    int32 explicit = 3; google.protobuf.Timestamp at = 4 [features.message_encoding = DELIMITED]; }
  service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/e"; } }`;

test('fields that editions encode as DELIMITED are set and printed, and presence follows the features', async () => {
  const { json } = await startGateway(editions);
  const query = 'inner.a=3&implicit=0&explicit=0&at=2024-01-02T03:04:05Z';
  expect(await json(`/e?${query}`)).toBe('{"inner":{"a":3},"implicit":0,"explicit":0,"at":"2024-01-02T03:04:05Z"}');
  expect(await json(`/e?${query}&json=proto3`)).toBe('{"inner":{"a":3},"explicit":0,"at":"2024-01-02T03:04:05Z"}');
});

const standard = `syntax = "proto3"; package s; import "google/protobuf/any.proto"; import "google/protobuf/field_mask.proto"; import "google/protobuf/wrappers.proto";
  message R { float narrow = 1; repeated float many = 2; repeated string names = 3; google.protobuf.Any any = 4; google.protobuf.FieldMask mask = 5;
    map<string, float> by_name = 6; google.protobuf.FloatValue wrapped = 7; optional float chosen = 8; bytes data = 9; }
  service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/s"; }
    rpc Names(R) returns (R) { option (google.api.http) = { get: "/s/names" response_body: "names" }; }
    rpc Any(R) returns (R) { option (google.api.http) = { get: "/s/any" response_body: "any" }; }
    rpc Data(R) returns (R) { option (google.api.http) = { get: "/s/data" response_body: "data" }; }
    rpc Map(R) returns (R) { option (google.api.http) = { get: "/s/map" response_body: "by_name" }; } }`;

test('?json=proto3 prints 32-bit floats with their own digits, also inside an Any', async () => {
  const { json } = await startGateway(standard);
  const query =
    'narrow=0.1&many=0.1&many=16777216&by_name[a]=0.3&wrapped=0.1&chosen=0&mask=long_name,b.c_d&json=proto3';
  expect(await json(`/s?${query}`)).toBe(
    '{"narrow":0.1,"many":[0.1,16777216],"mask":"longName,b.cD","byName":{"a":0.3},"wrapped":0.1,"chosen":0}',
  );
  const inner = new BinaryWriter().tag(1, WireType.Bit32).float(0.1).finish();
  const any = new BinaryWriter().uint32(10).string('/s.R').uint32(18).bytes(inner).finish();
  const message = new BinaryWriter().tag(4, WireType.LengthDelimited).bytes(any).finish();
  const packed = await startGateway(standard, { reply: () => ({ message }) });
  expect(await packed.json('/s?json=proto3')).toBe('{"any":{"@type":"/s.R","narrow":0.1}}');
});

test('a response body that is unset is an empty list, map or text, or null for a message', async () => {
  const { json } = await startGateway(standard);
  const bodies = await Promise.all(['names', 'map', 'data', 'any'].map((name) => json(`/s/${name}?json=proto3`)));
  expect(bodies).toEqual(['[]', '{}', '""', 'null']);
});

const wellKnown = `syntax = "proto3"; package w; import "google/protobuf/duration.proto"; import "google/protobuf/struct.proto";
  import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
  message Plain { string a = 1; }
  message R { repeated google.protobuf.Timestamp at = 1; repeated google.protobuf.Duration wait = 2; repeated google.protobuf.Int64Value number = 3;
    map<string, google.protobuf.Timestamp> by_name = 4; google.protobuf.Struct fields = 5; google.protobuf.Value value = 6;
    repeated google.protobuf.Value values = 7; repeated Plain plain = 8; map<string, Plain> plain_map = 9; }
  service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/w"; } }`;

test('lists and maps of well-known types are set by query parameters', async () => {
  const { gateway, json } = await startGateway(wellKnown);
  expect(
    JSON.parse(
      await json(
        '/w?at=2024-01-02T03:04:05Z&at=1970-01-01T00:00:00Z&wait=1s&wait=1m30s&number=0&number=7&by_name[x]=2024-01-02T03:04:05Z' +
          `&fields=${encodeURIComponent('{"a":[1,null]}')}&value=true&values=${encodeURIComponent('"t"')}&values=2&json=proto3`,
      ),
    ),
  ).toEqual({
    at: ['2024-01-02T03:04:05Z', '1970-01-01T00:00:00Z'],
    wait: ['1s', '90s'],
    number: ['0', '7'],
    byName: { x: '2024-01-02T03:04:05Z' },
    fields: { a: [1, null] },
    value: true,
    values: ['t', 2],
  });
  for (const query of ['at=x', 'by_name[x]=y', 'plain=a', 'plain_map[a]=b', 'fields=[]', 'value={'])
    expect([query, (await gateway.get(`/w?${query}`)).status]).toEqual([query, 400]);
});

const long = `syntax = "proto3"; package l; message Item { string name = 1; uint64 weight = 2; } message Page { repeated Item items = 1; repeated int32 numbers = 2; string end = 3; }
  message R { Page page = 1; repeated Item items = 2; }
  service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/l"; } }`;

test('an answer of many megabytes is printed whole', async () => {
  const items = (no: number, count: number) => {
    const writer = new BinaryWriter();
    for (let at = 0; at < count; at += 1)
      writer
        .tag(no, WireType.LengthDelimited)
        .fork()
        .tag(1, WireType.LengthDelimited)
        .string(`thing <${at}>`)
        .tag(2, WireType.Varint)
        .uint64(at)
        .join();
    return writer.finish();
  };
  const numbers = new BinaryWriter().tag(2, WireType.LengthDelimited).fork();
  for (let at = 0; at < 300_000; at += 1) numbers.int32(at);
  const page = Buffer.concat([items(1, 150_000), numbers.join().tag(3, WireType.LengthDelimited).string('é').finish()]);
  const message = Buffer.concat([
    new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(page).finish(),
    items(2, 150_000),
  ]);
  const { json } = await startGateway(long, { reply: () => ({ message }) });
  const text = await json('/l');
  const item = (at: number) => `{"name":"thing \\u003c${at}\\u003e","weight":"${at}"}`;
  const list = Array.from({ length: 150_000 }, (_, at) => item(at)).join();
  const ints = Array.from({ length: 300_000 }, (_, at) => at).join();
  expect(text === `{"page":{"items":[${list}],"numbers":[${ints}],"end":"é"},"items":[${list}]}`).toBe(true);
});
