// Who reaches the routes of operators, over real connections to a process.
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { addOperator, operatorRoles, revokeOperator } from '@palaver/service-kit/internal';
import { createTempDir, foreignHeaders } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startAgentProcess } from './start-agent-process.ts';

const did = 'did:key:z6MkwDK3M4PxU1FqcSt4quXghquH1MoWXGzTrNkNWTSy2NLD';
const person = encodeURIComponent(did);
const routes = [
  { role: 'viewer', method: 'GET', path: '/metrics' },
  { role: 'viewer', method: 'GET', path: '/metrics/errors' },
  { role: 'operator', method: 'GET', path: '/metrics/log' },
  { role: 'viewer', method: 'GET', path: '/audit' },
  { role: 'viewer', method: 'GET', path: '/audit?format=csv' },
  { role: 'viewer', method: 'GET', path: `/credits/accounts/${person}` },
  { role: 'operator', method: 'POST', path: '/credits/top-up', body: { did, amount: 1, idempotencyKey: 'one' } },
  { role: 'operator', method: 'GET', path: '/traces' },
  { role: 'operator', method: 'GET', path: '/traces/01890a5d-ac96-774b-bcce-b302099a8057' },
  { role: 'admin', method: 'GET', path: '/traces/01890a5d-ac96-774b-bcce-b302099a8057/content' },
  { role: 'admin', method: 'GET', path: `/users/${person}/export` },
  { role: 'admin', method: 'DELETE', path: `/users/${person}` },
] as const;

interface Asked {
  method: string;
  path: string;
  body?: object;
}

/** By a client that sends any header, also `Host` and `Sec-Fetch-Site`. */
function ask(url: string, { method, path, body }: Asked, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const type = body && { 'content-type': 'application/json' };
    const sent = httpRequest(url + path, { method, headers: { ...type, ...headers } }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end(body && JSON.stringify(body));
  });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('named operators do what their role allows, until they are revoked', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  const tokens = Object.fromEntries(operatorRoles.map((role) => [role, addOperator(file, { name: role, role })]));
  await using agent = await startAgentProcess({ OPERATORS_FILE: file, CREDITS_ENABLED: 'true', TRACES: 'calls' });
  for (const route of routes) {
    const needed = operatorRoles.indexOf(route.role);
    for (const [index, role] of operatorRoles.entries())
      expect([route.path, role, await ask(agent.url, route, bearer(tokens[role] ?? ''))]).toEqual([
        route.path,
        role,
        index < needed ? 403 : expect.toBeOneOf([200, 404]),
      ]);
    expect([route.path, await ask(agent.url, route, {})]).toEqual([route.path, 401]);
  }
  // A user's token is none of an operator.
  const user = await agent.createUser();
  expect(await ask(agent.url, routes[0], user.headers)).toBe(401);
  revokeOperator(file, 'admin');
  expect(await ask(agent.url, routes[0], bearer(tokens.admin ?? ''))).toBe(401);
  // Without a role left for it, this machine is no admin either.
  for (const role of ['viewer', 'operator']) revokeOperator(file, role);
  expect(await ask(agent.url, routes[0], {})).toBe(401);
});

test('guessed tokens are counted and block their address', async () => {
  const token = 'the-token-of-the-operator-0123456789';
  await using agent = await startAgentProcess({ OPERATOR_TOKEN: token, TRUST_PROXY_ENABLED: 'true' });
  const from = (address: string, sent: string) =>
    ask(agent.url, routes[0], { ...bearer(sent), 'x-forwarded-for': address });
  for (let guess = 0; guess < 10; guess += 1) expect(await from('192.0.2.1', `guess-${guess}`)).toBe(401);
  expect(await from('192.0.2.1', token)).toBe(429);
  expect(await from('198.51.100.7, 192.0.2.1', token)).toBe(429);
  expect(await from('192.0.2.2', token)).toBe(200);
  const metrics = await fetch(`${agent.url}/metrics`, {
    headers: { ...bearer(token), 'x-forwarded-for': '192.0.2.2' },
  });
  expect(await metrics.text()).toMatch(/operator_tokens_refused_total\{.*\} 10\n/);
});

test('without tokens only this machine is let in, and no page of another origin or under another name', async () => {
  await using agent = await startAgentProcess({ CREDITS_ENABLED: 'true', TRACES: 'calls' });
  const { host } = new URL(agent.url);
  const foreign: Record<string, string>[] = [
    ...foreignHeaders,
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
    { host: `localhost.evil.example:${host.split(':')[1]}` },
  ];
  for (const route of routes) {
    for (const headers of foreign) {
      const status = await ask(agent.url, route, headers);
      expect([route.path, headers, status]).toEqual([route.path, headers, expect.toBeOneOf([401, 403, 421])]);
    }
  }
  for (const route of routes) expect(await ask(agent.url, route, {})).toBeOneOf([200, 404]);
});

test('in production nobody is let in without a token, not even this machine: a proxy on it may forward anyone', async () => {
  await using agent = await startAgentProcess({ CREDITS_ENABLED: 'true', TRACES: 'calls', NODE_ENV: 'production' });
  for (const route of routes) expect([route.path, await ask(agent.url, route, {})]).toEqual([route.path, 401]);
  const reply = await fetch(`${agent.url}/metrics`);
  expect(((await reply.json()) as { message: string }).message).toContain('In production it needs OPERATOR_TOKEN');
});
