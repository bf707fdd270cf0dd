import { expect, test } from 'vitest';
import { parseProtoFiles } from './descriptors/parse-proto-files.ts';
import { createSchema, listServices } from './descriptors/schema.ts';
import { createRouteTable, type RouteOptions, type RouteTable } from './route-table.ts';

const prefixes: RouteOptions = { source: '/ixo', served: '/ixo', legacy: [] };

/** A table of methods `M0`, `M1`, … with the given paths, in this order. */
function tableOf(paths: string[], given: Partial<RouteOptions> = {}): RouteTable {
  const methods = paths.map(
    (path, index) => `rpc M${index}(R) returns (R) { option (google.api.http).get = "${path}"; }`,
  );
  const text = `syntax = "proto3"; package t; message R { string id = 1; string a = 2; } service Q { ${methods.join(' ')} }`;
  const files = parseProtoFiles([{ name: 't.proto', text }]);
  return createRouteTable(createSchema({ files, services: listServices(files) }), { ...prefixes, ...given });
}

function ask(table: RouteTable, path: string): string | undefined {
  const match = table.match(path);
  return match && [match.route.method.name, ...match.params.map(([field, value]) => `${field}=${value}`)].join(' ');
}

test('of several matches the first registered wins', () => {
  const table = tableOf(['/e/params', '/e/{id}', '/e/late', '/{a}/late', '/e/{id=**}']);
  expect(ask(table, '/e/params')).toBe('M0');
  expect(ask(table, '/e/late')).toBe('M1 id=late');
  expect(ask(table, '/x/late')).toBe('M3 a=x');
  expect(ask(table, '/e/a/b')).toBe('M4 id=a/b');
  expect(ask(tableOf(['/{a}/x', '/e/{id}']), '/e/x')).toBe('M0 a=e');
  expect(ask(tableOf(['/e/{id=**}', '/e/{a}']), '/e/x')).toBe('M0 id=x');
});

test('what ** takes may be many segments or none', () => {
  const table = tableOf(['/d/{id=docs/**}', '/m/{id=**}/tail/{a}']);
  expect(ask(table, '/d/docs/a/b')).toBe('M0 id=docs/a/b');
  expect(ask(table, '/d/docs')).toBe('M0 id=docs/'); // as the reference joins it
  expect(ask(table, '/m/a/b/tail/x')).toBe('M1 id=a/b a=x');
  expect(ask(table, '/m/tail/x')).toBe('M1 id= a=x');
});

test('a verb is one only where a route has it', () => {
  const table = tableOf(['/e/{id}', '/b/{id}:close', '/b/{id}', '/c/{id=**}:close']);
  expect(ask(table, '/e/did:x:y')).toBe('M0 id=did:x:y');
  expect(ask(table, '/b/1:close')).toBe('M1 id=1');
  expect(ask(table, '/b/1:open')).toBe('M2 id=1:open');
  expect(ask(table, '/c/1/2:close')).toBe('M3 id=1/2');
  expect(ask(table, '/c/1/2')).toBeUndefined();
});

test('patterns inside a variable must fit, and are captured whole', () => {
  const table = tableOf(['/{id=shelves/*/books/*}/pages', '/d/{id=x/**/z}/end/{a}']);
  expect(ask(table, '/shelves/1/books/2/pages')).toBe('M0 id=shelves/1/books/2');
  expect(ask(table, '/shelves/1/boxes/2/pages')).toBeUndefined();
  expect(ask(table, '/d/x/1/2/z/end/q')).toBe('M1 id=x/1/2/z a=q');
  expect(ask(table, '/d/x/z/end/q')).toBe('M1 id=x//z a=q'); // as the reference joins it
});

test('routes under the source prefix move to the served one, others stay', () => {
  const table = tableOf(['/ixo/e/{id}', '/cosmos/bank', '/ixofoo/x'], {
    served: '/impacts',
    legacy: ['/old', '/older/v1'],
  });
  expect(table.routes.map(({ template }) => template)).toEqual([
    '/impacts/e/{id}',
    '/cosmos/bank',
    '/ixofoo/x',
    '/old/e/{id}',
    '/older/v1/e/{id}',
  ]);
  expect(ask(table, '/ixo/e/1')).toBeUndefined();
  expect(ask(table, '/impacts/e/1')).toBe('M0 id=1');
  expect(table.match('/older/v1/e/1')?.route.legacy).toEqual({ prefix: '/older/v1', successor: '/impacts' });
});

test('a rule that cannot be served is named and leaves the others alone', () => {
  const table = tableOf(['/a/{id', '/b/{id}', '/c/{id=**}/{a=**}', '/d//e']);
  expect(table.routes.map(({ template }) => template)).toEqual(['/b/{id}']);
  expect(table.faults).toEqual([
    't.Q.M0: "{" is not a path segment in the path /a/{id',
    't.Q.M2: more than one ** in the path /c/{id=**}/{a=**}',
    't.Q.M3: "" is not a path segment in the path /d//e',
  ]);
});

test('streaming methods and other verbs are not served', () => {
  const text = `syntax = "proto3"; package t; message R {} service Q {
    rpc S(R) returns (stream R) { option (google.api.http).get = "/s"; }
    rpc P(R) returns (R) { option (google.api.http) = { post: "/p" body: "*" additional_bindings { get: "/p" } }; }
  }`;
  const files = parseProtoFiles([{ name: 't.proto', text }]);
  const table = createRouteTable(createSchema({ files, services: ['t.Q'] }), prefixes);
  expect(table.routes.map(({ template }) => template)).toEqual(['/p']);
});
