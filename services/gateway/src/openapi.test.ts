import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { loadFixtureSchema } from '../test/fixture-schema.ts';
import { parseProtoFiles } from './descriptors/parse-proto-files.ts';
import { createSchema } from './descriptors/schema.ts';
import { toOpenApi } from './openapi.ts';
import { createRouteTable } from './route-table.ts';

const table = createRouteTable(loadFixtureSchema(), { source: '/fixture', served: '/things', legacy: ['/old'] });

test('the document is valid OpenAPI 3.1', async () => {
  const document = JSON.parse(JSON.stringify(toOpenApi(table)));
  const validator = new Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('it lists every served route once, legacy ones not', () => {
  expect(Object.keys(toOpenApi(table).paths)).toEqual([
    '/things/item/params',
    '/things/item/{id}',
    '/things/thing/{id}/of/{owner.name}',
    '/things/item/shadowed',
    '/things/box/{id}:close',
    '/things/box/{id}',
    '/things/deep/{id}/end',
    '/things/rest/{id}',
    '/things/{id}/pages',
    '/things/star/*/{id}',
    '/things/typed/{number}/{colour}/{flag}',
    '/things/everything',
  ]);
});

test('parameters are the fields that the path does not bind, dotted', () => {
  const { paths } = toOpenApi(table);
  const names = (path: string) =>
    (paths[path] as { get: { parameters: { name: string; in: string }[] } }).get.parameters.map(
      (parameter) => `${parameter.in} ${parameter.name}`,
    );
  expect(names('/things/thing/{id}/of/{owner.name}')).toEqual([
    'path id',
    'path owner.name',
    'query owner.weight',
    'query note',
    'header x-cosmos-block-height',
  ]);
  expect(names('/things/everything')).toContain('query nested.leaf.name');
});

test('schemas say what is printed', () => {
  const { schemas } = toOpenApi(table).components;
  expect(schemas['fixture.v1.Leaf']).toEqual({
    type: 'object',
    properties: { name: { type: 'string' }, weight: { type: 'string', format: 'uint64', pattern: '^[0-9]+$' } },
    required: ['name', 'weight'],
  });
});

test('two routes that differ in the names of their variables are one path', () => {
  const text = `syntax = "proto3"; package t; message R { string a = 1; string b = 2; } service Q {
    rpc A(R) returns (R) { option (google.api.http).get = "/x/{a}"; }
    rpc B(R) returns (R) { option (google.api.http).get = "/x/{b}"; } }`;
  const schema = createSchema({ files: parseProtoFiles([{ name: 't.proto', text }]), services: ['t.Q'] });
  const { paths } = toOpenApi(createRouteTable(schema, { source: '/ixo', served: '/ixo', legacy: [] }));
  expect(Object.keys(paths)).toEqual(['/x/{a}']);
});

test('routes that differ in the patterns of their variables are one path, all described', async () => {
  const text = `syntax = "proto3"; package t; message R { string a = 1; string b = 2; } message S { string c = 1; } service Q {
    rpc A(R) returns (R) { option (google.api.http).get = "/x/{a=docs/**}"; }
    rpc B(R) returns (S) { option (google.api.http).get = "/x/{a=shelves/*}"; }
    rpc C(R) returns (R) { option (google.api.http).get = "/y/{a=docs/*}/{b=shelves/*}"; } }`;
  const schema = createSchema({ files: parseProtoFiles([{ name: 't.proto', text }]), services: ['t.Q'] });
  const document = toOpenApi(createRouteTable(schema, { source: '/ixo', served: '/ixo', legacy: [] }));
  const listed = Object.entries(document.paths).map(([path, { get }]) => [
    path,
    ...get.parameters.flatMap((parameter) => (parameter.in === 'path' ? [parameter.name, parameter.description] : [])),
  ]);
  expect(listed).toEqual([
    ['/x/{a}', 'a', 'A path of the form docs/**.\nOr: A path of the form shelves/*.'],
    ['/y/{a}/{b}', 'a', 'A path of the form docs/*.', 'b', 'A path of the form shelves/*.'],
  ]);
  const { get } = document.paths['/x/{a}'] ?? {};
  expect(get).toMatchObject({
    operationId: 't.Q.A',
    summary: 'A, B',
    description: expect.stringContaining('t.Q.B: B'),
  });
  expect(get?.responses[200].content['application/json'].schema).toEqual({
    anyOf: [{ $ref: '#/components/schemas/t.R' }, { $ref: '#/components/schemas/t.S' }],
  });
  expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
});

test('a field that a path has twice is one parameter', async () => {
  const text = `syntax = "proto3"; package t; message R { string name = 1; }
    service Q { rpc A(R) returns (R) { option (google.api.http).get = "/x/{name}/{name}"; } }`;
  const source = { files: parseProtoFiles([{ name: 't.proto', text }]), services: ['t.Q'] };
  const document = toOpenApi(createRouteTable(createSchema(source), { source: '/ixo', served: '/ixo', legacy: [] }));
  const { parameters = [] } = document.paths['/x/{name}/{name}']?.get ?? {};
  expect(parameters.filter((parameter) => parameter.in === 'path')).toHaveLength(1);
  expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
});

test('comments of the .proto files are the descriptions', async () => {
  const text = `syntax = "proto3"; package t;
    // What is asked for.
    message R {
      // Whose it is.
      // buf:lint:ignore FIELD
      string a = 1;
      string b = 2; // The rest.
      message Inner {
        // Deep inside.
        string c = 1;
      }
      Inner inner = 3;
    }
    service Q {
      // Looks one up.
      rpc A(R) returns (R) { option (google.api.http).get = "/x/{a}"; }
    }`;
  const source = { files: parseProtoFiles([{ name: 't.proto', text }]), services: ['t.Q'] };
  const document = toOpenApi(createRouteTable(createSchema(source), { source: '/ixo', served: '/ixo', legacy: [] }));
  const { get } = document.paths['/x/{a}'] ?? {};
  expect(get).toMatchObject({ summary: 'A', description: 'Looks one up.' });
  expect(get?.parameters.slice(0, 3)).toMatchObject([
    { name: 'a', description: 'Whose it is.' },
    { name: 'b', description: 'The rest.' },
    { name: 'inner.c', description: 'Deep inside.' },
  ]);
  expect(document.components.schemas['t.R']).toMatchObject({
    description: 'What is asked for.',
    properties: { a: { type: 'string', description: 'Whose it is.' } },
  });
  expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
});
