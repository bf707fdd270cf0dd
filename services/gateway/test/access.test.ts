import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '@palaver/service-kit';
import { askStatus, createTempDir, foreignHeaders, forwardingCases } from '@palaver/test-kit';
import { createDelegation, createInvocation, createSigner, parseToken, type Signer } from '@palaver/ucan';
import type { InvocationOptions } from '@palaver/ucan/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizeApiKey, authorizeUcan, loadApiKeys } from '../src/auth.ts';
import { type GatewayConfig, gatewayConfigSchema } from '../src/config.ts';
import { type FixtureNode, startFixtureNode } from './fixture-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
let node: FixtureNode;

beforeAll(async () => {
  node = await startFixtureNode();
});
afterAll(() => node.close());

test('with api-key, a key opens its routes, at its rate; documents stay open', async () => {
  const authorize = authorizeApiKey([
    { name: 'all', sha256: sha256('key-all') },
    { name: 'boxes', sha256: sha256('key-boxes').toUpperCase(), routes: ['/fixture/box/*'] },
    { name: 'slow', sha256: sha256('key-slow'), perMinute: 2 },
  ]);
  const env = { GATEWAY_UPSTREAMS: node.address, GATEWAY_AUTH: 'api-key', GATEWAY_API_KEYS_FILE: 'given' };
  await using gateway = await startTestGateway(env, { authorize });
  const ask = (path: string, key?: string) => gateway.get(path, key === undefined ? {} : { 'x-api-key': key });

  const missing = await ask('/fixture/item/1');
  expect(missing.status).toBe(401);
  expect(missing.headers.get('www-authenticate')).toBe('ApiKey');
  expect(await missing.json()).toMatchObject({ statusCode: 401, code: 16, reason: 'UNAUTHORIZED' });
  expect((await ask('/fixture/item/1', 'wrong')).status).toBe(401);
  expect((await ask('/fixture/item/1', '')).status).toBe(401);
  expect((await ask('/fixture/item/1', 'key-all')).status).toBe(200);
  const forbidden = await ask('/fixture/item/1', 'key-boxes');
  expect(forbidden.status).toBe(403);
  expect(await forbidden.json()).toMatchObject({ code: 7, reason: 'FORBIDDEN' });
  expect((await ask('/fixture/box/1', 'key-boxes')).status).toBe(200);
  expect((await ask('/fixture/boxes/1', 'key-boxes')).status).toBe(404);

  const rates = [];
  for (let round = 0; round < 3; round += 1) rates.push(await ask('/fixture/item/1', 'key-slow'));
  expect(rates.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(Number(rates[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await rates[2]?.json()).toMatchObject({ code: 8, reason: 'RATE_LIMITED' });

  for (const path of ['/health', '/docs', '/openapi.json', '/']) expect((await ask(path)).status).toBe(200);
});

test('holders of different keys share answers, which do not depend on who asks; the key is counted and logged by its name', async () => {
  const keys = ['a', 'b'].map((name) => ({ name, sha256: sha256(name) }));
  const env = {
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_CACHE_TTL_MS: '60000',
    GATEWAY_AUTH: 'api-key',
    GATEWAY_API_KEYS_FILE: 'x',
    LOG_LEVEL: 'info',
  };
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  await using gateway = await startTestGateway(env, { authorize: authorizeApiKey(keys), destination });
  const states = [];
  for (const key of ['a', 'b', 'a']) {
    const response = await gateway.get('/fixture/item/own', { 'x-api-key': key });
    states.push(response.headers.get('x-cache'));
    expect(response.headers.get('cache-control')).toBe('private, max-age=60');
  }
  expect(states).toEqual(['miss', 'hit', 'hit']);
  const metrics = await (await gateway.get('/metrics')).text();
  expect(metrics).toMatch(/gateway_key_requests_total\{key="a"[^}]*\} 2/);
  expect(metrics).toMatch(/gateway_key_requests_total\{key="b"[^}]*\} 1/);
  expect(metrics).not.toContain(sha256('a'));
  const logged = lines.map((line) => JSON.parse(line)).filter(({ path }) => path === '/fixture/item/own');
  expect(logged.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  expect(lines.join()).not.toContain(sha256('a'));
});

const [self, user, eve] = [await createSigner(), await createSigner(), await createSigner()];

describe('with ucan', () => {
  const capability = { can: 'oracle/query', with: self.did() } as const;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-auth-type': 'ucan' });
  const invoke = async (issuer: Signer, more: Partial<InvocationOptions> = {}) =>
    bearer((await createInvocation({ issuer, audience: self.did(), capability, ...more })).serialized);
  const lend = async (from: Signer, to: Signer) => {
    const lent = await createDelegation({ issuer: from, audience: to.did(), capabilities: [capability] });
    const { ok } = await parseToken(lent.serialized);
    return ok ? [ok] : [];
  };
  const start = (more: { GATEWAY_UCAN_ISSUERS?: string[]; GATEWAY_UCAN_ABILITY?: string }) =>
    startTestGateway(
      {
        GATEWAY_UPSTREAMS: node.address,
        GATEWAY_AUTH: 'ucan',
        GATEWAY_DIDS: self.did(),
        GATEWAY_UCAN_ISSUERS: user.did(),
      },
      { authorize: authorizeUcan({ GATEWAY_DIDS: [self.did()], GATEWAY_UCAN_ISSUERS: [], ...more } as GatewayConfig) },
    );

  test('a bearer for this gateway by a named issuer opens it, and the refusal says why', async () => {
    await using gateway = await start({ GATEWAY_UCAN_ISSUERS: [user.did()] });
    const ask = (headers: Record<string, string>) => gateway.get('/fixture/item/1', headers);
    const good = await invoke(user);
    const answered = await ask(good);
    expect([answered.status, answered.headers.get('cache-control')]).toEqual([200, 'private, max-age=1']);
    const delegation = await createDelegation({
      issuer: user,
      audience: self.did(),
      capabilities: [{ can: 'oracle/*', with: user.did() }],
    });
    expect((await ask({ 'x-ucan-delegation': delegation.serialized })).status).toBe(200);
    expect((await ask(await invoke(eve, { proofs: await lend(user, eve) }))).status).toBe(200);
    const refusals = [
      [{}, 401, 'UCAN_MISSING'],
      [bearer('nonsense'), 401, 'UCAN_MALFORMED'],
      [await invoke(user, { audience: user.did() }), 401, 'UCAN_WRONG_AUDIENCE'],
      [{ authorization: good.authorization }, 401, 'UCAN_MISSING'],
      // A key that anyone can make, with the right ability.
      [await invoke(eve), 403, 'FORBIDDEN'],
      [await invoke(eve, { capability: { can: '*', with: eve.did() } }), 403, 'FORBIDDEN'],
      // The lent capability is for another resource than the one used.
      [
        await invoke(eve, { capability: { can: '*', with: eve.did() }, proofs: await lend(user, eve) }),
        403,
        'FORBIDDEN',
      ],
    ] as const;
    for (const [headers, status, reason] of refusals) {
      const response = await ask(headers);
      expect(await response.json()).toMatchObject({ statusCode: status, reason });
    }
    expect((await gateway.get('/openapi.json')).status).toBe(200);
  });

  test('a required ability is one that the gateway itself has granted', async () => {
    await using gateway = await start({ GATEWAY_UCAN_ABILITY: 'oracle/query' });
    const ask = async (headers: Record<string, string>) => (await gateway.get('/fixture/item/1', headers)).status;
    expect(await ask(await invoke(user, { proofs: await lend(self, user) }))).toBe(200);
    expect(await ask(await invoke(user))).toBe(403);
    const chat = { ...capability, can: 'oracle/chat' } as const;
    const lent = await createDelegation({ issuer: self, audience: user.did(), capabilities: [chat] });
    const { ok } = await parseToken(lent.serialized);
    expect(await ask(await invoke(user, { capability: chat, proofs: ok ? [ok] : [] }))).toBe(403);
  });

  test('does not start without an issuer or an ability', () => {
    const env = { GATEWAY_AUTH: 'ucan', GATEWAY_DIDS: self.did() };
    const parse = (more = {}) => loadConfig(gatewayConfigSchema, { ...env, ...more });
    expect(() => parse()).toThrow(/GATEWAY_UCAN_ISSUERS/);
    expect(parse({ GATEWAY_UCAN_ISSUERS: user.did() })).toMatchObject({ GATEWAY_UCAN_ISSUERS: [user.did()] });
    expect(parse({ GATEWAY_UCAN_ABILITY: 'oracle/query' })).toMatchObject({ GATEWAY_UCAN_ABILITY: 'oracle/query' });
  });
});

test('a faulty file of keys stops the start and says why', async () => {
  await using folder = await createTempDir();
  const path = join(folder.path, 'keys.json');
  await expect(loadApiKeys(path)).rejects.toThrow('cannot be read');
  await writeFile(path, 'no');
  await expect(loadApiKeys(path)).rejects.toThrow('is not JSON');
  await writeFile(path, '[{ "name": "x", "sha256": "short" }]');
  await expect(loadApiKeys(path)).rejects.toThrow('0.sha256');
  await writeFile(path, JSON.stringify([{ name: 'x', sha256: sha256('x') }]));
  expect(await loadApiKeys(path)).toHaveLength(1);
});

test('cross-origin calls are off by default and on for the origins named', async () => {
  await using closed = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const origin = { origin: 'https://app.example' };
  expect((await closed.get('/fixture/item/1', origin)).headers.get('access-control-allow-origin')).toBeNull();
  await using open = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, CORS_ORIGIN: 'https://app.example' });
  const response = await open.get('/fixture/item/1', origin);
  expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  expect(response.headers.get('vary')).toContain('Origin');
  const preflight = await open.get(
    '/fixture/item/1',
    { ...origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-cosmos-block-height' },
    'OPTIONS',
  );
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-cosmos-block-height');
  expect((await open.get('/fixture/item/1', {}, 'OPTIONS')).status).toBe(204);
  expect((await open.get('/nothing', origin)).headers.get('access-control-allow-origin')).toBe('https://app.example');
});

test('the rate limit counts queries per client, not documents', async () => {
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, GATEWAY_RATE_LIMIT_PER_MINUTE: '3' });
  const statuses = [];
  for (let round = 0; round < 4; round += 1) statuses.push((await gateway.get('/fixture/item/1')).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await gateway.get('/fixture/item/1');
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect(await refused.json()).toMatchObject({ statusCode: 429, code: 8, reason: 'RATE_LIMITED', details: [] });
  expect((await gateway.get('/health')).status).toBe(200);
});

test.each(forwardingCases)('the rate limit: %s', async (_, env, same, other) => {
  const limited = { GATEWAY_UPSTREAMS: node.address, GATEWAY_RATE_LIMIT_PER_MINUTE: '1' };
  await using gateway = await startTestGateway({ ...limited, ...env });
  const from = async (chain: string) => (await gateway.get('/fixture/item/1', { 'x-forwarded-for': chain })).status;
  expect([await from(same[0]), await from(same[1])]).toEqual([200, 429]);
  if (other !== undefined) expect(await from(other)).toBe(200);
});

test('operators need the token where one is set, and without one only this machine is let in, by no page of others', async () => {
  const paths = ['/metrics', '/metrics/errors'];
  await using open = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, CORS_ORIGIN: '*' });
  await using closed = await startTestGateway({ GATEWAY_UPSTREAMS: node.address, OPERATOR_TOKEN: 'op-token' });
  for (const path of paths) {
    expect(await askStatus(open.url + path)).toBe(200);
    for (const headers of foreignHeaders)
      expect([headers, await askStatus(open.url + path, headers)]).toEqual([
        headers,
        expect.toBeOneOf([401, 403, 421]),
      ]);
    for (const [authorization, status] of [
      ['', 401],
      ['Bearer wrong', 401],
      ['Bearer op-token', 200],
    ] as const)
      expect(await askStatus(closed.url + path, { authorization })).toBe(status);
    const { headers } = await open.get(path, { origin: 'https://app.example' });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});
