// A reply that is under way ends when the token that asked for it, or a proof of it, is revoked, on whichever door and instance.
import { join } from 'node:path';
import { openStore } from '@palaver/store';
import { createTempDir } from '@palaver/test-kit';
import { createDelegation, createSigner, parseToken } from '@palaver/ucan';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { openSocket } from './connect-socket.ts';
import { createGate } from './gate-plugin.ts';
import { chatCapability, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
const plugins = [gate.plugin];
const text = '/tool gate {}';

interface Opened {
  agent: TestAgent;
  ana: TestUser;
  headers: Record<string, string>;
}

const post = ({ agent, headers }: Opened, path: string, body: object) =>
  fetch(`${agent.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  });

const call = (opened: Opened, path: string, method: string, params: object) =>
  post(opened, path, { jsonrpc: '2.0', id: 1, method, params });

/** A run of the user at the gate, which nobody reads. */
async function begin({ ana }: Opened): Promise<string> {
  const sessionId = await ana.createSession();
  const begun = await ana.stream(sessionId, text);
  await gate.reached();
  await begun.body?.cancel();
  return begun.headers.get('x-run-id') ?? '';
}

const a2aMessage = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] };
const ways: [string, (opened: Opened) => Promise<Response>][] = [
  [
    'a streamed message',
    async (it) => post(it, `/messages/${await it.ana.createSession()}`, { message: text, stream: true }),
  ],
  ['a message', async (it) => post(it, `/messages/${await it.ana.createSession()}`, { message: text })],
  ['a followed run', async (it) => fetch(`${it.agent.url}/runs/${await begin(it)}`, it)],
  ['a message of A2A', (it) => call(it, '/a2a', 'SendStreamingMessage', { message: a2aMessage })],
  ['a subscription of A2A', async (it) => call(it, '/a2a', 'SubscribeToTask', { id: await begin(it) })],
  ['a call of MCP', (it) => call(it, '/mcp', 'tools/call', { name: 'ask', arguments: { message: text } })],
  [
    'AG-UI',
    (it) => post(it, '/agui', { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: text }] }),
  ],
  [
    'the AI SDK',
    (it) => post(it, '/api/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] }),
  ],
  [
    'a chat completion',
    (it) => post(it, '/v1/chat/completions', { messages: [{ role: 'user', content: text }], stream: true }),
  ],
  ['a response', (it) => post(it, '/v1/responses', { input: text, stream: true })],
];

async function lend(ana: TestUser, audience: string) {
  return createDelegation({ issuer: ana.signer, audience, capabilities: [chatCapability], lifetimeSeconds: 3_600 });
}

/** How reading a reply went: `cut` where its connection was closed in the middle. */
const outcomeOf = (reply: Promise<Response>) =>
  reply
    .then((response) => response.text())
    .then(
      () => 'whole',
      () => 'cut',
    );

let agent: TestAgent;
beforeAll(async () => {
  agent = await startTestAgent({ plugins });
});
afterEach(() => {
  while (gate.waiting() > 0) gate.open();
});
afterAll(() => agent[Symbol.asyncDispose]());

describe('a reply under way is cut off when its token is revoked', () => {
  test.each(ways)('%s', async (way, open) => {
    const ana = await agent.createUser();
    const { serialized, cid } = await lend(ana, agent.did);
    const reply = open({ agent, ana, headers: { 'x-ucan-delegation': serialized } });
    const outcome = outcomeOf(reply);
    if (way !== 'a message') expect((await reply).status).toBe(200);
    await gate.reached();
    expect((await ana.send('DELETE', `/delegation/${cid}`)).status).toBe(200);
    gate.open();
    expect(await outcome).toBe('cut');
  });
});

test('so it is when a proof is revoked, and other replies and the run go on', async () => {
  const [owner, ana] = [await agent.createUser(), await agent.createUser()];
  const lent = await lend(owner, ana.did);
  const { ok: proof } = await parseToken(lent.serialized);
  const { serialized } = await createDelegation({
    issuer: ana.signer,
    audience: agent.did,
    capabilities: [chatCapability],
    lifetimeSeconds: 600,
    proofs: proof ? [proof] : [],
  });
  const sessionId = await ana.createSession();
  const own = ana.stream(sessionId, text);
  await gate.reached();
  const runId = (await own).headers.get('x-run-id') ?? '';
  const borrowed = fetch(`${agent.url}/runs/${runId}`, {
    headers: { authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan' },
  });
  expect((await borrowed).status).toBe(200);
  const outcome = outcomeOf(borrowed);
  await owner.send('DELETE', `/delegation/${lent.cid}`);
  gate.open();
  expect(await outcome).toBe('cut');
  expect(await (await own).text()).toContain('"status":"complete"');
});

test('so it is on another instance, without Redis too', async () => {
  const env = { ORACLE_PRIVATE_KEY: (await createSigner()).toSecret() };
  await using one = await startTestAgent({ engine: 'postgres', plugins, env });
  await using two = await startTestAgent({ databaseUrl: one.databaseUrl, plugins, env });
  const ana = await one.createUser();
  const { serialized, cid } = await lend(ana, one.did);
  const runId = await begin({ agent: one, ana, headers: {} });
  const followed = fetch(`${two.url}/runs/${runId}`, { headers: { 'x-ucan-delegation': serialized } });
  expect((await followed).status).toBe(200);
  const outcome = outcomeOf(followed);
  await ana.send('DELETE', `/delegation/${cid}`);
  expect(await outcome).toBe('cut');
});

test('a socket does nothing more once its token is revoked, also where the word of that was lost', async () => {
  await using dir = await createTempDir();
  const paidFile = join(dir.path, 'paid');
  await using bank = await startTestAgent({ engine: 'sqlite', plugins: [createBank(paidFile)] });
  const ana = await bank.createUser();
  const { serialized, cid } = await lend(ana, bank.did);
  await ana.send('POST', '/delegation', { raw: serialized });
  const sessionId = await ana.createSession();
  const sockets = Array.from({ length: 3 }, () =>
    openSocket(bank.url, { query: { sessionId }, auth: { ucanDelegation: serialized } }),
  );
  await Promise.all(sockets.map(({ event }) => event('connected')));
  const { asked, frames } = await ask(ana, sessionId, pay(20));
  const store = await openStore(bank.databaseUrl);
  await sql`update agent_delegation set revoked = 1 where cid = ${cid}`.execute(store.db);
  await store.close();

  const { runId, approvalId } = asked ?? {};
  const [one, two, three] = sockets;
  const reply = await one?.socket
    .timeout(5_000)
    .emitWithAck('approval_response', { runId, approvalId, approved: true });
  expect(reply).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
  two?.socket.emit('tool_result', { toolCallId: 'x', result: 1 });
  three?.socket.emit('action_call_result', { sessionId, toolCallId: 'x', result: 1 });
  for (const socket of sockets) {
    expect(await socket.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    await socket.disconnected();
  }
  expect(readPaid(paidFile)).toEqual([]);
  expect((await ana.liveRun(sessionId))?.status).toBe('waiting');
  await ana.abort(sessionId);
  await frames.return();
});
