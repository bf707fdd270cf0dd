import { join } from 'node:path';
import { openStore } from '@palaver/store';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { answerOf, ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { chatCapability, delegate, request, startTestAgent } from './test-agent.ts';

/** Two instances on one PostgreSQL, and one user of both. */
async function startInstances() {
  const opened = new AsyncDisposableStack();
  const { path } = opened.use(await createTempDir());
  const paidFile = join(path, 'paid');
  const plugins = [createBank(paidFile)];
  const env = { ORACLE_PRIVATE_KEY: (await createSigner()).toSecret() };
  const one = opened.use(await startTestAgent({ env, plugins, engine: 'postgres' }));
  const two = opened.use(await startTestAgent({ env, plugins, databaseUrl: one.databaseUrl }));
  const ana = await one.createUser();
  const users = [ana, await two.createUser(ana.signer)] as const;
  return { agents: [one, two] as const, users, paidFile, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

test('an approval that is answered in two ways at once, on two instances, has one answer', async () => {
  await using instances = await startInstances();
  const [one, two] = instances.users;
  let approved = 0;
  for (let round = 0; round < 6; round += 1) {
    const sessionId = await one.createSession();
    const { asked } = await ask(one, sessionId, pay(20 + round));
    if (!asked) throw new Error('nothing was asked');
    const answers = [
      answerOf(one, asked, true),
      answerOf(two, asked, false),
      answerOf(two, asked, true),
      answerOf(one, asked, false),
    ];
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    const isApproved = statuses[0] === 200;
    expect(statuses).toEqual(isApproved ? [200, 409, 200, 409] : [409, 200, 409, 200]);
    approved += Number(isApproved);
    await waitFor('the end of the run', async () => (await two.liveRun(sessionId)) === null);
    expect(readPaid(instances.paidFile)).toHaveLength(approved);
  }
});

test('a delegation that is revoked while its user is erased, on two instances, signs nobody in', async () => {
  await using instances = await startInstances();
  const [agent, other] = instances.agents;
  const store = await openStore(agent.databaseUrl);
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  for (let round = 0; round < 6; round += 1) {
    const ana = await agent.createUser();
    const there = await other.createUser(ana.signer);
    const delegation = await delegate(ana.signer, agent.did);
    const { cid } = (await ana.send('POST', '/delegation', { raw: delegation })).body;
    const signIn = (url: string) => request(`${url}/sessions`, { headers: { 'x-ucan-delegation': delegation } });
    expect((await signIn(other.url)).status).toBe(200);
    const replies = await Promise.all([
      ana.send('DELETE', `/delegation/${cid}`),
      there.send('DELETE', '/me'),
      ana.send('DELETE', '/me'),
      there.send('DELETE', `/delegation/${cid}`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect([(await signIn(agent.url)).status, (await signIn(other.url)).status]).toEqual([401, 401]);
    const { rows } = await sql`select revoked from agent_delegation where user_did = ${ana.did}`.execute(store.db);
    expect(rows).toEqual([]);
  }
});

test('an agent whose DID is a did:web signs in who names it, and shows that name', async () => {
  const did = 'did:web:farm.example';
  await using agent = await startTestAgent({ env: { ORACLE_DID: did } });
  expect(agent.did).toBe(did);
  const document = (await request(`${agent.url}/.well-known/did.json`)).body;
  const [method] = document.verificationMethod;
  expect([document.id, method.controller, method.id]).toEqual([did, did, `${did}#${method.publicKeyMultibase}`]);
  const ana = await agent.createUser();
  expect((await ana.send('POST', '/sessions')).body).toMatchObject({ oracleDid: did });
  const raw = await delegate(ana.signer, did);
  expect((await ana.send('POST', '/delegation', { raw })).status).toBe(200);
  expect((await request(`${agent.url}/sessions`, { headers: { 'x-ucan-delegation': raw } })).status).toBe(200);
  const audience = `did:key:${method.publicKeyMultibase}`;
  const { serialized } = await createInvocation({ issuer: ana.signer, audience, capability: chatCapability });
  const headers = { authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan' };
  expect((await request(`${agent.url}/sessions`, { headers })).body.code).toBe('UCAN_WRONG_AUDIENCE');
});
