import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toSnippet } from './answer-bar.tsx';
import { fillRoute, findPath, toRoutes } from './gateway.ts';

const document = {
  paths: {
    '/ixo/entity/{id}': {
      get: {
        summary: 'Entity',
        tags: ['ixo.entity.v1beta1.Query'],
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'pagination.limit', in: 'query', schema: { type: 'string', format: 'uint64' } },
          { name: 'pagination.reverse', in: 'query', schema: { type: 'boolean' } },
          { name: 'x-cosmos-block-height', in: 'header', description: 'The height.', schema: { type: 'string' } },
          { name: 'session', in: 'cookie' },
        ],
      },
    },
    '/old/entity/{id}': { get: { deprecated: true } },
  },
};

test('routes are read with their parameters; deprecated ones and cookies are left out', () => {
  const routes = toRoutes(document);
  expect(routes).toHaveLength(1);
  expect(routes[0]).toMatchObject({ title: 'Entity', group: 'ixo.entity.v1beta1' });
  expect(routes[0]?.parameters.map(({ name, hint, choices }) => ({ name, hint, choices }))).toEqual([
    { name: 'id', hint: 'string', choices: [] },
    { name: 'pagination.limit', hint: 'uint64', choices: [] },
    { name: 'pagination.reverse', hint: '', choices: ['true', 'false'] },
    { name: 'x-cosmos-block-height', hint: 'The height. · string', choices: [] },
  ]);
  expect(findPath(routes, '/entity/{id}')).toBe('/ixo/entity/{id}');
  expect(toRoutes({})).toEqual([]);
});

test('a filled form becomes a request: path readable, empty values left out, headers apart', () => {
  const [route] = toRoutes(document);
  if (!route) throw new Error('no route');
  const values = {
    'path:id': 'did:ixo:entity:a b',
    'query:pagination.limit': ' 5 ',
    'query:pagination.reverse': '',
    'header:x-cosmos-block-height': '7',
  };
  expect(fillRoute(route, values)).toEqual({
    target: '/ixo/entity/did:ixo:entity:a%20b?pagination.limit=5',
    headers: { 'x-cosmos-block-height': '7' },
  });
});

test('a curl line quotes what a shell would read otherwise', () => {
  expect(toSnippet('curl', 'http://127.0.0.1:1317', { target: '/a/did:x:1', headers: {} })).toBe(
    'curl http://127.0.0.1:1317/a/did:x:1',
  );
  expect(toSnippet('curl', 'http://h', { target: "/a?b=1&c='$(id)'", headers: { x: '1' } })).toBe(
    `curl 'http://h/a?b=1&c='\\''$(id)'\\''' -H 'x: 1'`,
  );
});

test('whatever is typed as a path value comes out as that value', () => {
  const [route] = toRoutes(document);
  if (!route) throw new Error('no route');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      const { target } = fillRoute(route, { 'path:id': value });
      expect(decodeURIComponent(target.slice('/ixo/entity/'.length))).toBe(value.trim());
    }),
  );
});

test('a request is written for TypeScript and Python too', () => {
  const request = { target: '/a?b="1"', headers: { 'x-height': '5' } };
  expect(toSnippet('typescript', 'http://h', request)).toContain(
    'fetch("http://h/a?b=\\"1\\"", { headers: {"x-height":"5"} })',
  );
  expect(toSnippet('python', 'http://h', request)).toContain(
    'urlopen(Request("http://h/a?b=\\"1\\"", headers={"x-height":"5"}))',
  );
  expect(toSnippet('python', 'http://h', { target: '/a', headers: {} })).toContain('Request("http://h/a"))');
});
