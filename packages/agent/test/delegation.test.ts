import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner, parseToken } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentDatabase } from '../src/store/schema.ts';
import { chatCapability, delegate, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const now = () => Math.floor(Date.now() / 1000);

describe.each(engines)('delegations on %s', (engine) => {
  let agent: TestAgent;

  beforeAll(async () => {
    agent = await startTestAgent({ engine });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const post = (user: TestUser, raw: string, more = {}) => user.send('POST', '/delegation', { raw, ...more });
  const status = async (user: TestUser) => (await user.send('GET', '/delegation')).body;

  test('is stored, shown and revoked', async () => {
    const ana = await agent.createUser();
    expect(await status(ana)).toEqual({ authorized: false });
    const expiration = now() + 3600;
    const raw = await delegate(ana.signer, agent.did, { expiration });
    const stored = await post(ana, raw, { issuer: ana.did, audience: agent.did, expiration });
    expect(stored).toMatchObject({ status: 200, body: { ok: true, expiration } });
    const { cid } = stored.body;
    expect(await status(ana)).toEqual({
      authorized: true,
      expiration,
      cid,
      capabilities: [{ can: expect.any(String), with: expect.any(String) }],
      delegations: [{ cid, expiration, capabilities: [chatCapability] }],
    });

    const byDelegation = () => request(`${agent.url}/delegation`, { headers: { 'x-ucan-delegation': raw } });
    expect((await byDelegation()).status).toBe(200);
    expect(await ana.send('DELETE', '/delegation')).toMatchObject({ status: 200, body: { ok: true } });
    expect(await status(ana)).toEqual({ authorized: false });
    expect(await byDelegation()).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
    expect(await post(ana, raw)).toMatchObject({ status: 400, body: { code: 'DELEGATION_REVOKED' } });
    // Nothing stored is no fault, and a fresh one is welcome.
    expect((await ana.send('DELETE', '/delegation')).body).toEqual({ ok: true });
    expect((await post(ana, await delegate(ana.signer, agent.did))).status).toBe(200);
    await agent.restart();
    expect(await byDelegation()).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
  });

  test('is one per user, the latest', async () => {
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    await post(ana, await delegate(ana.signer, agent.did, { expiration: now() + 100 }));
    await post(ana, await delegate(ana.signer, agent.did, { expiration: now() + 5000 }));
    expect((await status(ana)).expiration).toBeGreaterThan(now() + 1000);
    expect(await status(ben)).toEqual({ authorized: false });
  });

  test('is not readable in the database', async () => {
    const ana = await agent.createUser();
    const raw = await delegate(ana.signer, agent.did);
    await post(ana, raw);
    const store = await openStore<AgentDatabase>(agent.databaseUrl);
    const rows = await store.db.selectFrom('agent_delegation').selectAll().where('user_did', '=', ana.did).execute();
    await store.close();
    expect(rows).toHaveLength(1);
    const bytes = Buffer.from(rows[0]?.sealed ?? '', 'base64');
    expect(bytes.length).toBe(12 + Buffer.byteLength(raw) + 16);
    expect(JSON.stringify(rows) + bytes.toString('latin1')).not.toContain(raw.slice(20, 60));
  });

  test('that runs out is treated as missing', async () => {
    const ana = await agent.createUser();
    await post(ana, await delegate(ana.signer, agent.did, { expiration: now() + 2 }));
    await waitFor('the delegation to expire', async () => (await status(ana)).authorized === false);
    expect(await status(ana)).toEqual({ authorized: false });
  });

  test('carried by proofs is as short-lived as the shortest of them', async () => {
    const ana = await agent.createUser();
    const owner = await createSigner();
    const lent = { ...chatCapability, with: owner.did() };
    const proof = await parseToken(
      (await createDelegation({ issuer: owner, audience: ana.did, capabilities: [lent], expiration: now() + 60 }))
        .serialized,
    );
    const { serialized } = await createDelegation({
      issuer: ana.signer,
      audience: agent.did,
      capabilities: [lent],
      expiration: now() + 60,
      proofs: proof.ok ? [proof.ok] : [],
    });
    expect((await post(ana, serialized)).body.expiration).toBeLessThanOrEqual(now() + 60);
  });

  test.each([
    ['DELEGATION_INVALID', 400, async () => 'garbage'],
    ['DELEGATION_INVALID', 400, async (user: TestUser) => user.invocation.slice(0, 100)],
    ['DELEGATION_INVALID', 400, (user: TestUser, did: string) => forge(user, did)],
    [
      'DELEGATION_INVALID',
      400,
      (user: TestUser, did: string) => delegate(user.signer, did, { expiration: Number.POSITIVE_INFINITY }),
    ],
    ['DELEGATION_WRONG_AUDIENCE', 400, async (user: TestUser) => delegate(user.signer, (await createSigner()).did())],
    ['DELEGATION_NOT_YOURS', 403, async (_user: TestUser, did: string) => delegate(await createSigner(), did)],
    [
      'DELEGATION_EXPIRED',
      400,
      (user: TestUser, did: string) => delegate(user.signer, did, { expiration: now() - 60 }),
    ],
  ])('is refused with %s', async (code, statusCode, create) => {
    const ana = await agent.createUser();
    const refused = await post(ana, await create(ana, agent.did));
    expect(refused).toMatchObject({ status: statusCode, body: { statusCode, code } });
    expect(await status(ana)).toEqual({ authorized: false });
  });

  test.each([
    ['issuer', 'did:key:zSomebody'],
    ['audience', 'did:key:zSomebody'],
    ['expiration', 1],
    ['issuer', 7],
    ['expiration', 'soon'],
    ['raw', ''],
    ['raw', 'A'.repeat(70_000)],
  ])('a body with a contradicting or wrong %s is refused', async (path, value) => {
    const ana = await agent.createUser();
    const refused = await post(ana, await delegate(ana.signer, agent.did), { [path]: value });
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', issues: [{ path }] } });
    expect(await status(ana)).toEqual({ authorized: false });
  });
});

async function forge(user: TestUser, audience: string): Promise<string> {
  return delegate((await createSigner()).withDid(user.did), audience);
}
