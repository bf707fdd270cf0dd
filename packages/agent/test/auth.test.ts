import { createInvocation, createSigner, parseToken, type Signer } from '@palaver/ucan';
import type { InvocationOptions } from '@palaver/ucan/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineOraclePlugin, identityOf } from '../src/index.ts';
import { chatCapability, delegate, request, startTestAgent, type TestAgent } from './test-agent.ts';

const now = () => Math.floor(Date.now() / 1000);
const garbage = { authorization: 'Bearer !!!', 'x-auth-type': 'ucan', 'x-ucan-delegation': 'garbage' };

const plugin = defineOraclePlugin({
  name: 'open-routes',
  version: '1.0.0',
  manifest: { title: 'Open', summary: 'Open.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  getRoutes: () => (server) => {
    server.get('/open', async () => ({ open: true }));
    server.post('/open', async () => ({ open: true }));
    server.get('/hooks/:name/run', async () => ({ open: true }));
    server.get('/assets/*', async () => ({ open: true }));
    server.get('/closed', async (incoming) => ({ did: identityOf(incoming).did }));
  },
  getAuthExcludedRoutes: () => [{ path: '/open', method: 'GET' }, '/hooks/:name/run'],
});

let agent: TestAgent;
let ana: Signer;

beforeAll(async () => {
  agent = await startTestAgent({ plugins: [plugin], authExcludedRoutes: ['/assets/*'] });
  ana = await createSigner();
});
afterAll(() => agent[Symbol.asyncDispose]());

const mint = async (options: Partial<InvocationOptions> = {}) =>
  (await createInvocation({ issuer: ana, audience: agent.did, capability: chatCapability, ...options })).serialized;
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-auth-type': 'ucan' });
const get = (path: string, headers: Record<string, string>) => request(`${agent.url}${path}`, { headers });
const whoAmI = (headers: Record<string, string>) => get('/closed', headers);
const refused = (code: string, message: unknown) => ({
  status: 401,
  body: { statusCode: 401, error: 'Unauthorized', code, message },
});

describe('an invocation', () => {
  test('signs its issuer in, whatever x-did says', async () => {
    const token = await mint();
    expect((await whoAmI({ ...bearer(token), 'x-did': 'did:key:zSomebody' })).body).toEqual({ did: ana.did() });
    // A bearer may be used until it expires.
    expect((await whoAmI(bearer(token))).status).toBe(200);
  });

  test('is read in every spelling of the header that HTTP allows', async () => {
    const token = await mint();
    const base64url = token.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    for (const headers of [
      { authorization: `bearer ${token}`, 'x-auth-type': 'ucan' },
      { authorization: `Bearer   ${token}`, 'x-auth-type': 'UCAN' },
      bearer(base64url),
      bearer(`m${token.replaceAll('=', '')}`),
    ])
      expect((await whoAmI(headers)).status).toBe(200);
  });

  test.each([
    ['UCAN_EXPIRED', () => mint({ expiration: now() - 60 })],
    ['UCAN_NOT_YET_VALID', () => mint({ notBefore: now() + 120, expiration: now() + 300 })],
    ['UCAN_NO_EXPIRY', () => mint({ expiration: Number.POSITIVE_INFINITY })],
    ['UCAN_TTL_TOO_LONG', () => mint({ lifetimeSeconds: 1000 })],
    ['UCAN_WRONG_AUDIENCE', async () => mint({ audience: (await createSigner()).did() })],
    ['UCAN_BAD_SIGNATURE', async () => mint({ issuer: ana.withDid((await createSigner()).did()) })],
    ['UCAN_NOT_ALLOWED', () => mint({ capability: { can: 'space/read', with: 'ixo:oracle' } })],
    ['UCAN_NOT_ALLOWED', () => mint({ capability: { can: 'oracle/chat', with: 'did:key:zSomebody' } })],
    ['UCAN_BAD_PROOF', async () => mint({ proofs: await strayProof() })],
    ['UCAN_MALFORMED', async () => 'garbage'],
    ['UCAN_MALFORMED', async () => (await mint()).slice(0, -20)],
    ['UCAN_MALFORMED', async () => `${await mint()} ${await mint()}`],
    ['UCAN_MALFORMED', async () => 'A'.repeat(60_000)],
  ])('is refused with %s', async (code, create) => {
    const token = await create();
    expect(await whoAmI(bearer(token))).toMatchObject(refused(code, 'Invalid UCAN invocation'));
    // It decides, even beside a good delegation.
    const good = await delegate(ana, agent.did);
    expect(await whoAmI({ ...bearer(token), 'x-ucan-delegation': good })).toMatchObject(
      refused(code, 'Invalid UCAN invocation'),
    );
  });

  test('is given 30 s of clock skew', async () => {
    expect((await whoAmI(bearer(await mint({ expiration: now() - 20 })))).status).toBe(200);
    expect((await whoAmI(bearer(await mint({ notBefore: now() + 20 })))).status).toBe(200);
    expect((await whoAmI(bearer(await mint({ lifetimeSeconds: 925 })))).status).toBe(200);
  });

  test('is good beside a broken delegation', async () => {
    expect((await whoAmI({ ...bearer(await mint()), 'x-ucan-delegation': 'garbage' })).status).toBe(200);
  });
});

describe('a delegation alone', () => {
  test('signs its issuer in', async () => {
    const token = await delegate(ana, agent.did);
    expect((await whoAmI({ 'x-ucan-delegation': token })).body).toEqual({ did: ana.did() });
    // A bearer that is not announced as a UCAN is somebody else's business.
    expect((await whoAmI({ authorization: 'Bearer xyz', 'x-ucan-delegation': token })).status).toBe(200);
  });

  test.each([
    ['UCAN_EXPIRED', () => delegate(ana, agent.did, { expiration: now() - 60 })],
    ['UCAN_NO_EXPIRY', () => delegate(ana, agent.did, { expiration: Number.POSITIVE_INFINITY })],
    ['UCAN_WRONG_AUDIENCE', async () => delegate(ana, (await createSigner()).did())],
    ['UCAN_BAD_SIGNATURE', async () => delegate(ana.withDid((await createSigner()).did()), agent.did)],
    ['UCAN_MALFORMED', async () => 'garbage'],
  ])('is refused with %s', async (code, create) => {
    const reply = await whoAmI({ 'x-ucan-delegation': await create() });
    expect(reply).toMatchObject(refused(code, 'Invalid UCAN delegation'));
  });

  test('is not enough with UCAN_ALLOW_DELEGATION_AUTH=false', async () => {
    await using strict = await startTestAgent({ plugins: [plugin], env: { UCAN_ALLOW_DELEGATION_AUTH: 'false' } });
    const headers = { 'x-ucan-delegation': await delegate(ana, strict.did) };
    const path = `${strict.url}/closed`;
    expect(await request(path, { headers })).toMatchObject(refused('UCAN_MISSING', expect.any(String)));
    const user = await strict.createUser(ana);
    expect((await request(path, { headers: { ...user.headers, ...headers } })).status).toBe(200);
  });
});

test.each([
  ['nothing', async () => ({})],
  ['a bearer without X-Auth-Type', async () => ({ authorization: `Bearer ${await mint()}` })],
  ['another X-Auth-Type', async () => ({ ...bearer(await mint()), 'x-auth-type': 'jwt' })],
  ['another scheme', async () => ({ ...bearer(''), authorization: 'Basic eDp5' })],
  ['an empty bearer', async () => ({ ...bearer('') })],
  ['an empty delegation', async () => ({ 'x-ucan-delegation': '' })],
  ['a DID', async () => ({ 'x-did': ana.did() })],
])('%s is no credential', async (_what, create) => {
  const reply = await whoAmI(await create());
  expect(reply).toMatchObject(refused('UCAN_MISSING', expect.stringMatching(/^Missing UCAN authentication/)));
  expect(reply.body.message).toContain('X-Auth-Type: ucan');
  expect(reply.body.message).toContain('x-ucan-delegation');
});

test.each([
  ['GET', '/sessions'],
  ['POST', '/sessions'],
  ['DELETE', '/sessions/x'],
  ['GET', '/sessions/x/messages'],
  ['GET', '/sessions/x/run'],
  ['GET', '/messages/x'],
  ['POST', '/messages/x'],
  ['POST', '/messages/abort'],
  ['GET', '/runs/x'],
  ['GET', '/delegation'],
  ['POST', '/delegation'],
  ['DELETE', '/delegation'],
  ['GET', '/user-preferences'],
  ['POST', '/open'],
  ['GET', '/closed'],
])('%s %s is protected', async (method, path) => {
  const reply = await request(`${agent.url}${path}`, { method });
  expect(reply).toMatchObject(refused('UCAN_MISSING', expect.any(String)));
  expect(reply.headers.get('x-request-id')).toBeTruthy();
});

test.each([
  '/',
  '/health',
  '/docs/',
  '/docs/json',
  '/models',
  '/.well-known/did.json',
  '/open',
  '/hooks/a/run',
  '/assets/a/b.css',
])('%s is public and never looks at auth headers', async (path) => {
  expect((await get(path, garbage)).status).toBe(200);
  expect((await get(path, {})).status).toBe(200);
});

test('what a client writes into a path cannot make a route public', async () => {
  for (const path of ['/closed?/open', '/closed#/docs/', '/docs/..%2fclosed', '//closed', '/CLOSED'])
    expect([401, 404]).toContain((await get(path, {})).status);
});

test('tokens with the entity or the key as their audience are both accepted', async () => {
  const entity = 'did:ixo:entity:abc123';
  await using oracle = await startTestAgent({ plugins: [plugin], env: { ORACLE_ENTITY_DID: entity } });
  expect(oracle.did).toBe(entity);
  const document = (await request(`${oracle.url}/.well-known/did.json`)).body;
  for (const audience of [entity, document.id]) {
    const headers = bearer(await mint({ audience }));
    expect((await request(`${oracle.url}/closed`, { headers })).body).toEqual({ did: ana.did() });
  }
});

async function strayProof() {
  const parsed = await parseToken(await delegate(await createSigner(), (await createSigner()).did()));
  return parsed.ok ? [parsed.ok] : [];
}
