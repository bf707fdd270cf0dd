import { expect, test } from 'vitest';
import { loadFixtureSchema, loadGolden } from '../test/fixture-schema.ts';
import { decodeRequest } from './decode-request.ts';
import { parseProtoFiles } from './descriptors/parse-proto-files.ts';
import { createSchema } from './descriptors/schema.ts';
import { createEncoder } from './encode-response.ts';
import { cleanPath, decodeEscapes, escapePath } from './request/url.ts';
import { createRouteTable } from './route-table.ts';

interface Golden {
  target: string;
  status: number;
  method?: string;
  request?: string;
  location?: string;
}

const schema = loadFixtureSchema();
const table = createRouteTable(schema, { source: '/ixo', served: '/ixo', legacy: [] });
const encoder = createEncoder(schema.registry);

/** What the gateway makes of a target, in the form of the golden file. */
function ask(target: string): Omit<Golden, 'target'> {
  const [rawPath = '', ...rest] = target.split('?');
  const query = rest.join('?');
  const path = decodeEscapes(rawPath);
  if (path === undefined) return { status: 400 };
  const clean = cleanPath(path);
  if (clean !== path) return { status: 301, location: escapePath(clean) + (query && `?${query}`) };
  const match = table.match(path);
  if (!match) return { status: 404 };
  const decoded = decodeRequest(match, query);
  if (!decoded.ok) return { status: 400 };
  const encoded = encoder.encode(match.route.method.input, decoded.bytes);
  return { status: 200, method: match.route.method.name, request: encoded.ok ? encoded.json : encoded.message };
}

/** Where the contract's letter departs from the reference, beside calling 404 what the reference calls 501. */
const departures: Record<string, number> = {
  // Enums by name, and only known numbers.
  '/fixture/everything?colours=COLOUR_RED&colours=7': 200,
  '/fixture/everything?colour=COLOUR_RED': 200,
  '/fixture/everything?colour=COLOUR_SCARLET': 200,
  '/fixture/everything?colour=3': 400,
  // Colons in the last segment are data, wherever they are: the reference drops a last one and has no path with a first.
  '/fixture/item/abc:': 200,
  '/fixture/item/a::': 200,
  '/fixture/item/:abc': 200,
  '/fixture/box/:close': 200,
  // The contract names how numbers are written, without Go's other literals.
  '/fixture/everything?wide=0x1p4': 400,
  // A field without a name is an unknown parameter.
  '/fixture/everything?.text=a': 200,
  '/fixture/everything?=x': 200,
  '/fixture/everything?nested.=a': 200,
  // Empty bytes do not survive the wire, which the reference's echo did without.
  '/fixture/everything?data=': 200,
};

test.each(loadGolden<Golden>('requests'))('$target is read as the reference reads it', (golden) => {
  const { target, status, method, request, location } = golden;
  const answer = ask(target);
  const departure = departures[target];
  if (departure !== undefined) expect(answer.status).toBe(departure);
  else if (status === 501) expect(answer.status).toBe(404);
  else expect(answer).toEqual({ status, ...(method && { method, request }), ...(location && { location }) });
});

test('an enum is given by name, by alias or by known number', () => {
  for (const value of ['COLOUR_RED', 'COLOUR_SCARLET', '1', '+1', '01', '0x1'])
    expect(ask(`/fixture/everything?colour=${encodeURIComponent(value)}`).request).toContain('"colour":"COLOUR_RED"');
});

test('a list in the path has its items separated by commas', () => {
  const text = `syntax = "proto3"; package l; message R { repeated int32 n = 1; repeated string s = 2; }
    service Q { rpc Get(R) returns (R) { option (google.api.http).get = "/l/{n}/{s}"; } }`;
  const files = parseProtoFiles([{ name: 'l.proto', text }]);
  const lists = createSchema({ files, services: ['l.Q'] });
  const match = createRouteTable(lists, { source: '/ixo', served: '/ixo', legacy: [] }).match('/l/1,2,3/a,,b');
  if (!match) throw new Error('no route');
  const decoded = decodeRequest(match, 's=ignored');
  if (!decoded.ok) throw new Error(decoded.message);
  const encoded = createEncoder(lists.registry).encode(match.route.method.input, decoded.bytes);
  expect(encoded).toEqual({ ok: true, json: '{"n":[1,2,3],"s":["a","","b"]}' });
});

test('a query is not read where the path leaves no field for it', () => {
  expect(ask('/fixture/item/params?a;b').request).toBe('{}');
  expect(ask('/fixture/item/params?%zz').request).toBe('{}');
});

test('colons in the last segment are data', () => {
  for (const id of ['abc:', 'a::', ':abc', 'did:ixo:entity:1'])
    expect(ask(`/fixture/item/${id}`).request).toContain(`"id":"${id}"`);
});

test('leading zeros are decimal', () => {
  expect(ask('/fixture/everything?number=010').request).toContain('"number":10,');
  expect(ask('/fixture/everything?long_number=-007').request).toContain('"long_number":"-7"');
});

test('a parameter bound in the path is ignored by either of its names', () => {
  expect(ask('/fixture/typed/5/1/t?number=6').request).toContain('"number":5,');
  expect(ask('/fixture/thing/x/of/y?owner.name=z').request).toContain('"name":"y"');
});

test('names that every object has are no values', () => {
  for (const query of ['flag=constructor', 'flag=toString', 'colour=constructor', 'wrapped_flag=valueOf'])
    expect(ask(`/fixture/everything?${query}`).status).toBe(400);
  expect(ask('/fixture/everything?constructor=1&__proto__.x=1').status).toBe(200);
});

test('bytes that are not UTF-8 are refused as a bad escape', () => {
  expect(ask('/fixture/item/%ff').status).toBe(400);
  expect(ask('/fixture/everything?text=%ff').status).toBe(400);
});

test('two members of a oneof are refused', () => {
  expect(ask('/fixture/everything?kind_text=a&kind_leaf.name=b').status).toBe(400);
});

test('the message of a refusal names the parameter', () => {
  const match = table.match('/fixture/everything');
  const decoded = match && decodeRequest(match, 'leaf.weight=heavy');
  expect(decoded).toEqual({ ok: false, message: 'invalid parameter leaf.weight: parsing "heavy": invalid syntax' });
});

test.each(['proto2', '2023'])('a zero that is given is sent where the field tells it from none, in %s', (syntax) => {
  const [head, label] = syntax === '2023' ? ['edition = "2023";', ''] : ['syntax = "proto2";', 'optional'];
  const text = `${head} package t; message R { ${label} int32 count = 1; ${label} string name = 2; } service Q {
    rpc A(R) returns (R) { option (google.api.http).get = "/x"; } }`;
  const own = createSchema({ files: parseProtoFiles([{ name: 't.proto', text }]), services: ['t.Q'] });
  const match = createRouteTable(own, { source: '/ixo', served: '/ixo', legacy: [] }).match('/x');
  expect(match && decodeRequest(match, 'count=0&name=')).toEqual({ ok: true, bytes: Uint8Array.from([8, 0, 18, 0]) });
});
