// Refusals, limits, credits, isolation and abort are the same on every standard door.
import { agentLimits } from '@palaver/contract';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBank, readPaid } from './bank-plugin.ts';
import { createGate } from './gate-plugin.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

interface StandardDoor {
  name: string;
  path: string;
  /** The request that sends a text in a conversation of that name. */
  toBody(text: string, thread: string): object;
  /** Whether conversations of the protocol have a name. */
  hasThreads: boolean;
  /** Whether closing the connection stops the run. */
  stopsOnLeave: boolean;
  /** Whether a refused message is a result of the protocol, under status 200. */
  refusesInReply?: boolean;
  /** The error of a refusal in the protocol's own form. */
  error(code: string): object;
}

const openAiCodes: Record<string, string> = {
  UCAN_MALFORMED: 'invalid_api_key',
  RATE_LIMITED: 'rate_limit_exceeded',
  PAYMENT_REQUIRED: 'insufficient_quota',
};
const openAiError = (code: string) => ({ error: { message: expect.any(String), code: openAiCodes[code] } });

const nativeError = (code: string) => ({ code, message: expect.any(String), statusCode: expect.any(Number) });

const toUserMessage = (text: string, contextId: string) => ({
  messageId: 'm',
  role: 'ROLE_USER',
  contextId,
  parts: [{ text }],
});

const doors: StandardDoor[] = [
  {
    name: 'a2a',
    path: '/a2a',
    toBody: (text, thread) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: { message: toUserMessage(text, thread) },
    }),
    hasThreads: true,
    stopsOnLeave: false,
    error: (reason) => ({ jsonrpc: '2.0', error: { data: [{ reason }] } }),
  },
  {
    name: 'mcp',
    path: '/mcp',
    toBody: (message, conversation) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'ask', arguments: { message, conversation } },
    }),
    hasThreads: true,
    stopsOnLeave: false,
    refusesInReply: true,
    error: (code) => ({ jsonrpc: '2.0', error: { data: { code } } }),
  },
  {
    name: 'agui',
    path: '/agui',
    toBody: (content, threadId) => ({ threadId, runId: 'r', messages: [{ id: 'm', role: 'user', content }] }),
    hasThreads: true,
    stopsOnLeave: true,
    error: nativeError,
  },
  {
    name: 'ai-sdk',
    path: '/api/chat',
    toBody: (text, id) => ({ id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] }),
    hasThreads: true,
    stopsOnLeave: false,
    error: nativeError,
  },
  {
    name: 'openai chat',
    path: '/v1/chat/completions',
    toBody: (content) => ({ messages: [{ role: 'user', content }], stream: true }),
    hasThreads: false,
    stopsOnLeave: true,
    error: openAiError,
  },
  {
    name: 'openai responses',
    path: '/v1/responses',
    toBody: (input) => ({ input, stream: true }),
    hasThreads: false,
    stopsOnLeave: true,
    error: openAiError,
  },
];

const gate = createGate();
const plugins = [gate.plugin];

function post(door: StandardDoor, url: string, token: string, text = 'hello', thread = 'thread', signal?: AbortSignal) {
  return fetch(`${url}${door.path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify(door.toBody(text, thread)),
    ...(signal && { signal }),
  });
}

describe.each(doors)('$name', (door) => {
  let agent: TestAgent;
  let ana: TestUser;
  beforeAll(async () => {
    agent = await startTestAgent({ plugins, env: { SENDS_PER_MINUTE: '6' } });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('the send limit is shared with the native door', async () => {
    ana = await agent.createUser();
    for (let sent = 0; sent < 5; sent += 1) await ana.say(await ana.createSession(), 'hello');
    const taken = await post(door, agent.url, ana.invocation, '/long 3');
    expect(taken.status).toBe(200);
    expect(await taken.text()).toContain('word3');
    const { total } = (await ana.send('GET', '/sessions')).body;
    const refused = await post(door, agent.url, ana.invocation, 'hello', 'another');
    expect((await ana.send('GET', '/sessions')).body.total).toBe(total);
    if (door.refusesInReply)
      return expect(await refused.text()).toMatch(/"isError":true.*RATE_LIMITED|RATE_LIMITED.*"isError":true/);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toMatchObject(door.error('RATE_LIMITED'));
  });

  test('a token that is not good is 401 with a challenge, none is too', async () => {
    const refused = await post(door, agent.url, 'nonsense');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(await refused.json()).toMatchObject(door.error('UCAN_MALFORMED'));
    expect((await request(`${agent.url}${door.path}`, { method: 'POST' })).status).toBe(401);
  });

  test(
    door.stopsOnLeave ? 'closing the connection stops the run' : 'closing the connection leaves the run',
    async () => {
      const ben = await agent.createUser();
      const leaving = new AbortController();
      const sent = await post(door, agent.url, ben.invocation, '/tool gate {}', 'gate', leaving.signal);
      expect(sent.status).toBe(200);
      await gate.reached();
      leaving.abort();
      await sent.text().catch(() => undefined);
      if (!door.stopsOnLeave) gate.open();
      await waitFor('the gate to be free', () => gate.waiting() === 0);
      const { sessions } = (await ben.send('GET', '/sessions')).body;
      for (const { sessionId } of sessions) {
        const status = door.stopsOnLeave ? 'aborted' : 'complete';
        await waitFor('the answer', async () => (await ben.messages(sessionId))[1]?.status === status);
      }
    },
  );
});

test('the id of a native session is that conversation; a stranger gets one of their own', async () => {
  await using agent = await startTestAgent({ plugins });
  for (const door of doors.filter(({ hasThreads }) => hasThreads)) {
    const [ben, eve] = await Promise.all([agent.createUser(), agent.createUser()]);
    const sessionId = await ben.createSession();
    for (const user of [ben, eve]) await (await post(door, agent.url, user.invocation, 'hello', sessionId)).text();
    expect([door.name, (await ben.messages(sessionId)).length]).toEqual([door.name, 2]);
    for (const user of [ben, eve]) expect((await user.send('GET', '/sessions')).body.total).toBe(1);
  }
});

test('credits refuse on every door before the first byte, and no session is left', async () => {
  await using agent = await startTestAgent({ plugins, env: { CREDITS_ENABLED: 'true', CREDITS_FREE: '0' } });
  const ana = await agent.createUser();
  for (const door of doors) {
    const refused = await post(door, agent.url, ana.invocation);
    if (door.refusesInReply) {
      expect(await refused.text()).toContain('PAYMENT_REQUIRED');
      continue;
    }
    expect([door.name, refused.status]).toEqual([door.name, 402]);
    expect(await refused.json()).toMatchObject(door.error('PAYMENT_REQUIRED'));
  }
  expect((await ana.send('GET', '/sessions')).body.total).toBe(0);
  // One that the user made stays.
  const sessionId = await ana.createSession();
  for (const door of doors) await (await post(door, agent.url, ana.invocation, 'hello', sessionId)).text();
  expect((await ana.send('GET', '/sessions')).body.total).toBe(1);
});

test('a message that is too long leaves no session on any door', async () => {
  await using agent = await startTestAgent({ plugins });
  const ana = await agent.createUser();
  for (const door of doors) {
    const refused = await post(door, agent.url, ana.invocation, 'x'.repeat(agentLimits.messageCharacters + 1));
    expect([door.name, await refused.text()]).toEqual([door.name, expect.stringMatching(/message|-32602/)]);
  }
  expect((await ana.send('GET', '/sessions')).body.total).toBe(0);
});

test('a tool that needs approval does not run and no door hangs', async () => {
  await using dir = await createTempDir();
  const paidFile = `${dir.path}/paid`;
  await using agent = await startTestAgent({ plugins: [createBank(paidFile)] });
  const ana = await agent.createUser();
  for (const door of doors) {
    const reply = await post(door, agent.url, ana.invocation, '/tool pay {"to":"ben","amount":50}', door.name);
    expect([door.name, await reply.text()]).toEqual([door.name, expect.stringMatching(/approv|interrupt/i)]);
  }
  expect(readPaid(paidFile)).toEqual([]);
});

test('doors that DOORS does not name are not there', async () => {
  await using agent = await startTestAgent({ plugins, env: { DOORS: '' } });
  const ana = await agent.createUser();
  for (const door of doors) expect((await post(door, agent.url, ana.invocation)).status).toBe(404);
});
