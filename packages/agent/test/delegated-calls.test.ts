// What a plugin does downstream in the user's name, and what the user reads when it may not.
import { waitFor } from '@palaver/test-kit';
import { createDelegation, createSigner, createVerifier, parseToken, type Signer } from '@palaver/ucan';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/index.ts';
import { openSocket, type TestSocket } from './connect-socket.ts';
import { createGate } from './gate-plugin.ts';
import { startTestAgent, type TestAgentOptions, type TestUser } from './test-agent.ts';

const capability = { can: 'vault/open', with: 'ixo:vault' } as const;
const vault = await createSigner();
const plugin = defineOraclePlugin({
  name: 'vault',
  version: '1.0.0',
  manifest: { title: 'Vault', summary: 'Opens.', whenToUse: ['never'], visibility: 'always', stability: 'stable' },
  getTools: () => ({
    open_vault: {
      description: 'Opens the vault.',
      inputSchema: z.object({}),
      execute: async (_args, rt) =>
        (await rt.ucan.mintInvocation({ audience: vault.did(), capability, lifetimeSeconds: 600 })).serialized,
    },
    look_inside: {
      description: 'Looks into the vault, without calling anyone.',
      inputSchema: z.object({}),
      needsDelegation: () => capability,
      execute: () => 'gold',
    },
  }),
});

const sockets: TestSocket[] = [];
afterEach(() => {
  for (const { socket } of sockets.splice(0)) socket.close();
});

const start = (options: TestAgentOptions = {}) =>
  startTestAgent({ ...options, plugins: [plugin, ...(options.plugins ?? [])] });

async function authorise(user: TestUser, audience: string, expiration = inSeconds(3600)): Promise<void> {
  const { serialized } = await createDelegation({
    issuer: user.signer,
    audience,
    capabilities: [capability],
    expiration,
  });
  const { status, body } = await user.send('POST', '/delegation', { raw: serialized });
  expect(status, JSON.stringify(body)).toBe(200);
}

async function openVault(user: TestUser, sessionId: string) {
  return (await user.say(sessionId, '/tool open_vault {}')).body.message;
}

async function connect(url: string, user: TestUser, sessionId: string): Promise<TestSocket> {
  const socket = openSocket(url, { query: { sessionId }, auth: { invocation: user.invocation } });
  sockets.push(socket);
  await socket.event('connected');
  return socket;
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const refusal = { name: 'open_vault', status: 'error', error: expect.stringMatching(/^REAUTHORIZATION_REQUIRED/) };
const promptsOf = ({ events }: TestSocket) => events.filter(({ name }) => name === 'render_component');

test('a call downstream is made under the delegation and ends with it', async () => {
  await using agent = await start();
  const ana = await agent.createUser();
  const expiration = inSeconds(120);
  await authorise(ana, agent.did, expiration);
  const [call] = (await openVault(ana, await ana.createSession())).toolCalls;
  const verdict = await createVerifier({ audiences: [vault.did()] }).verifyDelegation(call.output);
  expect(verdict.ok).toMatchObject({
    did: agent.did,
    expiration,
    capabilities: [capability],
    view: { proofs: [{ issuer: ana.did, audience: agent.did }] },
  });
});

test('a delegation to the agent’s entity is used in the entity’s name', async () => {
  const key: Signer = await createSigner();
  const entity = 'did:ixo:entity:abc123';
  await using agent = await start({ env: { ORACLE_PRIVATE_KEY: key.toSecret(), ORACLE_ENTITY_DID: entity } });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  // The document of the entity lists the agent's key.
  const resolveDid = async (did: string) => (did === entity ? { ok: [key.did()] } : { error: { message: 'unknown' } });
  const verifier = createVerifier({ audiences: [vault.did()], resolveDid });
  for (const audience of [entity, key.did()]) {
    await authorise(ana, audience);
    const [call] = (await openVault(ana, sessionId)).toolCalls;
    expect(call).toMatchObject({ status: 'done' });
    expect((await verifier.verifyDelegation(call.output)).ok).toMatchObject({ did: audience });
  }
});

test('without one the answer asks the user, and the page is asked once in six hours', async () => {
  await using agent = await start();
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const page = await connect(agent.url, ana, sessionId);
  for (let turn = 0; turn < 2; turn += 1) {
    const { content, status, toolCalls, components } = await openVault(ana, sessionId);
    expect({ content, status, toolCalls }).toMatchObject({
      content: expect.stringMatching(/authorisation/),
      status: 'complete',
      toolCalls: [refusal],
    });
    expect(components?.length ?? 0).toBe(turn === 0 ? 1 : 0);
  }
  expect(promptsOf(page)).toMatchObject([
    {
      payload: {
        sessionId,
        componentName: 'ReauthorizePrompt',
        status: 'done',
        args: { capability: 'vault/open', resource: expect.any(String) },
      },
    },
  ]);

  // A process that starts again has not forgotten, and another session is another question.
  await agent.restart();
  expect((await openVault(ana, sessionId)).components).toBeUndefined();
  expect((await openVault(ana, await ana.createSession())).components).toHaveLength(1);
});

test('one that runs out while the turn waits counts as none', async () => {
  const gate = createGate();
  await using agent = await start({ plugins: [gate.plugin] });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const expiration = inSeconds(3);
  await authorise(ana, agent.did, expiration);
  const held = ana.say(sessionId, '/tool gate');
  await gate.reached();
  const waiting = openVault(ana, sessionId);
  await expect.poll(() => inSeconds(0)).toBeGreaterThan(expiration);
  gate.open();
  await held;
  expect((await waiting).toolCalls).toMatchObject([refusal]);
});

test('one that is revoked while the turn waits counts as none, also for a tool that calls nobody', async () => {
  const gate = createGate();
  await using agent = await start({ plugins: [gate.plugin] });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  const sent = await createDelegation({ issuer: ana.signer, audience: agent.did, capabilities: [capability] });
  const held = ana.say(sessionId, '/tool gate');
  await gate.reached();
  const waiting = ana.stream(sessionId, '/tool look_inside {}', {}, { 'x-ucan-delegation': sent.serialized });
  expect((await waiting).status).toBe(200);
  await ana.send('DELETE', `/delegation/${sent.cid}`);
  gate.open();
  await held;
  await expect.poll(async () => (await ana.liveRun(sessionId))?.status).toBe('waiting');
});

test('a delegation whose proof its issuer has revoked is not used any more', async () => {
  await using agent = await start();
  const [ana, ben] = [await agent.createUser(), await agent.createUser()];
  const shared = { capabilities: [capability], expiration: inSeconds(3600) };
  const given = await createDelegation({ issuer: ana.signer, audience: ben.did, ...shared });
  const { ok: proof } = await parseToken(given.serialized);
  const proofs = proof ? [proof] : [];
  const passed = await createDelegation({ issuer: ben.signer, audience: agent.did, ...shared, proofs });
  expect((await ben.send('POST', '/delegation', { raw: passed.serialized })).status).toBe(200);
  const sessionId = await ben.createSession();
  expect((await openVault(ben, sessionId)).toolCalls).toMatchObject([{ status: 'done' }]);
  expect((await ana.send('DELETE', `/delegation/${given.cid}`)).status).toBe(200);
  expect((await openVault(ben, sessionId)).toolCalls).toMatchObject([refusal]);
});

test('an expired delegation nudges once in a plain chat; one that is in force, revoked or was never there does not', async () => {
  await using agent = await start();
  const [ana, ben, eve, tom] = await Promise.all(Array.from({ length: 4 }, () => agent.createUser()));
  if (!ana || !ben || !eve || !tom) throw new Error('there are four users');
  const expiration = inSeconds(2);
  await authorise(ana, agent.did, expiration);
  await authorise(eve, agent.did, expiration);
  await eve.send('DELETE', '/delegation');
  await authorise(ben, agent.did);
  const sessions = await Promise.all([ana, ben, eve, tom].map((user) => user.createSession()));
  const page = await connect(agent.url, ana, sessions[0] ?? '');
  await waitFor('the delegation to expire', async () => !(await ana.send('GET', '/delegation')).body.authorized);
  const componentsOf = async (user: TestUser, index: number) =>
    (await user.say(sessions[index] ?? '', 'hello')).body.message.components;
  const nudge = { componentName: 'ReauthorizePrompt', args: { capability: 'vault/open', resource: 'ixo:vault' } };
  expect(await componentsOf(ana, 0)).toMatchObject([nudge]);
  for (let round = 0; round < 2; round += 1) expect(await componentsOf(ana, 0)).toBeUndefined();
  await agent.restart();
  expect(await componentsOf(ana, 0)).toBeUndefined();
  expect(promptsOf(page)).toMatchObject([{ payload: nudge }]);
  for (const [index, user] of [ben, eve, tom].entries()) expect(await componentsOf(user, index + 1)).toBeUndefined();
});
