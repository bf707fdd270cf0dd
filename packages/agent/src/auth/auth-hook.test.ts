import { expect, test } from 'vitest';
import { createRouteMatcher, type PublicRoute } from './auth-hook.ts';

test.each<[PublicRoute, string, string, boolean]>([
  ['/open', '/open', 'GET', true],
  ['/open', '/open', 'DELETE', true],
  ['/open', '/open/more', 'GET', false],
  ['/hooks/:name', '/hooks/:name', 'POST', true],
  // A route's own template decides, not what a client writes into a path.
  ['/hooks/:name', '/hooks/slack', 'POST', false],
  [{ path: '/one', method: 'get' }, '/one', 'GET', true],
  [{ path: '/one', method: 'GET' }, '/one', 'HEAD', true],
  [{ path: '/one', method: 'GET' }, '/one', 'POST', false],
  ['/assets/*', '/assets/logo.svg', 'GET', true],
  ['/assets/*', '/assets/*', 'GET', true],
  ['/assets/*', '/assets', 'GET', false],
  ['/assets/(.*)', '/assets/logo.svg', 'GET', true],
  ['/assets/(.*)', '/other', 'GET', false],
  [{ path: '/assets/(.*)', method: 'GET' }, '/assets/logo.svg', 'POST', false],
])('%j leaves %s %s open: %s', (route, url, method, expected) => {
  expect(createRouteMatcher([route])(url, method)).toBe(expected);
});

test('a route that is open for one method may be named again for another', () => {
  const isPublic = createRouteMatcher([
    { path: '/one', method: 'GET' },
    { path: '/one', method: 'PUT' },
  ]);
  expect(['GET', 'PUT', 'POST'].map((method) => isPublic('/one', method))).toEqual([true, true, false]);
});
