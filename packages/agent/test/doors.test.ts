// What holds on the native door holds on every other one.
import { createInvocation } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { createLinesDoor } from './lines-door.ts';
import { chatCapability, delegate, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

interface Event {
  id: number;
  name: string;
  data: Record<string, unknown>;
}

interface TestDoor {
  name: string;
  send(user: TestUser, url: string, sessionId: string, text: string): Promise<Response>;
  resume(user: TestUser, url: string, runId: string, after: number): Promise<Response>;
  events(text: string): Event[];
}

const json = { 'content-type': 'application/json' };
const doors: TestDoor[] = [
  {
    name: 'native',
    send: (user, _url, sessionId, text) => user.stream(sessionId, text),
    resume: (user, _url, runId, after) => user.follow(runId, `?after=${after}`),
    events: (text) =>
      [...text.matchAll(/event: (.+)\nid: (\d+)\ndata: (.+)\n/g)].map(([, name = '', id, data = '']) => ({
        id: Number(id),
        name,
        data: JSON.parse(data),
      })),
  },
  {
    name: 'lines',
    send: ({ invocation }, url, thread, text) =>
      fetch(`${url}/lines`, {
        method: 'POST',
        headers: { ...json, authorization: `Bearer ${invocation}` },
        body: JSON.stringify({ thread, text }),
      }),
    resume: ({ invocation }, url, runId, after) =>
      fetch(`${url}/lines/${runId}?after=${after}`, { headers: { authorization: `Bearer ${invocation}` } }),
    events: (text) =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  },
];

const gate = createGate();
const plugins = [createLinesDoor(), gate.plugin];

describe.each(doors)('the $name door', (door) => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startTestAgent({ plugins, env: { SENDS_PER_MINUTE: '4' } });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('streams the run, numbered, and ends with done', async () => {
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const events = door.events(await (await door.send(ana, agent.url, sessionId, 'hello')).text());
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]).toMatchObject({ name: 'run', data: { sessionId } });
    expect(events.at(-1)).toMatchObject({ name: 'done', data: { status: 'complete' } });
    const [, answer] = await ana.messages(sessionId);
    const said = events.filter(({ name }) => name === 'message').map(({ data }) => data.content);
    expect(said.join('')).toBe(answer.content);
  });

  test('is resumed where a reader left; a stranger finds nothing', async () => {
    const [ana, ben] = await Promise.all([agent.createUser(), agent.createUser()]);
    const sent = await door.send(ana, agent.url, await ana.createSession(), '/tool gate {}');
    await gate.reached();
    await sent.body?.cancel();
    const runId = sent.headers.get('x-run-id') ?? '';
    const resumed = door.resume(ana, agent.url, runId, 2);
    gate.open();
    const events = door.events(await (await resumed).text());
    expect(events[0]?.id).toBe(3);
    expect(events.at(-1)).toMatchObject({ name: 'done', data: { status: 'complete' } });
    expect((await door.resume(ben, agent.url, runId, 0)).status).toBe(404);
  });

  test('the send limit holds and is shared with the other door', async () => {
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    for (const one of [door, ...doors, door]) await (await one.send(ana, agent.url, sessionId, 'hello')).text();
    const refused = await door.send(ana, agent.url, sessionId, 'hello');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(refused.headers.get('ratelimit-remaining')).toBe('0');
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('a token that is not good is 401 with a challenge', async () => {
    const ana = await agent.createUser();
    const headers = { authorization: 'Bearer nonsense', 'x-auth-type': 'ucan' };
    const bad = { ...ana, headers, invocation: 'nonsense', stream: () => fetch(`${agent.url}/sessions`, { headers }) };
    const refused = await door.send(bad, agent.url, 'x', 'hello');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(await refused.json()).toMatchObject({ code: 'UCAN_MALFORMED' });
  });
});

test.each(doors)('credits refuse on the $name door before the first byte', async (door) => {
  const env = { CREDITS_ENABLED: 'true', CREDITS_FREE: '0' };
  await using agent = await startTestAgent({ plugins, env });
  const ana = await agent.createUser();
  const refused = await door.send(ana, agent.url, await ana.createSession(), 'hello');
  expect(refused.status).toBe(402);
  expect(await refused.json()).toMatchObject({ code: 'PAYMENT_REQUIRED' });
});

describe('a bare bearer', () => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startTestAgent({ plugins });
  });
  afterAll(() => agent[Symbol.asyncDispose]());
  const ask = (token: string) =>
    request(`${agent.url}/lines`, {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${token}` },
      body: JSON.stringify({ thread: 't', text: 'hello' }),
    });

  test('may be a delegation that signs in, as an API key is', async () => {
    const { signer } = await agent.createUser();
    const key = await delegate(signer, agent.did, { lifetimeSeconds: 20 * 86_400 });
    expect(await ask(key)).toMatchObject({ status: 200 });
    const tooLong = await delegate(signer, agent.did, { lifetimeSeconds: 60 * 86_400 });
    expect(await ask(tooLong)).toMatchObject({ status: 401, body: { code: 'UCAN_TTL_TOO_LONG' } });
  });

  test('is refused for another agent, and is not read on native routes', async () => {
    const [ana, ben] = await Promise.all([agent.createUser(), agent.createUser()]);
    const foreign = await createInvocation({ issuer: ana.signer, audience: ben.did, capability: chatCapability });
    expect(await ask(foreign.serialized)).toMatchObject({ status: 401, body: { code: 'UCAN_WRONG_AUDIENCE' } });
    const headers = { authorization: `Bearer ${ana.invocation}` };
    expect(await request(`${agent.url}/sessions`, { headers })).toMatchObject({
      status: 401,
      body: { code: 'UCAN_MISSING' },
    });
  });

  test('is not taken as a delegation where delegations do not sign in', async () => {
    await using strict = await startTestAgent({ plugins, env: { UCAN_ALLOW_DELEGATION_AUTH: 'false' } });
    const { signer } = await strict.createUser();
    const headers = {
      ...json,
      authorization: `Bearer ${await delegate(signer, strict.did, { lifetimeSeconds: 3600 })}`,
    };
    const body = JSON.stringify({ thread: 't', text: 'hello' });
    expect((await request(`${strict.url}/lines`, { method: 'POST', headers, body })).status).toBe(401);
  });
});

test('a run is aborted through its handle, and its answer is kept', async () => {
  await using agent = await startTestAgent({ plugins });
  const ana = await agent.createUser();
  const [, lines] = doors as [TestDoor, TestDoor];
  const sent = await lines.send(ana, agent.url, 'thread', '/tool gate {}');
  await gate.reached();
  const reply = await request(`${agent.url}/lines/${sent.headers.get('x-run-id')}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${ana.invocation}` },
  });
  expect(reply.body).toMatchObject({ aborted: true, answer: { status: 'aborted' } });
  expect(lines.events(await sent.text()).at(-1)).toMatchObject({ name: 'done', data: { status: 'aborted' } });
});

test('a thread is one session of its user, whoever else uses the name', async () => {
  await using agent = await startTestAgent({ plugins });
  const [, lines] = doors as [TestDoor, TestDoor];
  const [ana, ben] = await Promise.all([agent.createUser(), agent.createUser()]);
  const sessionOf = async (user: TestUser, thread: string) =>
    lines.events(await (await lines.send(user, agent.url, thread, 'hello')).text())[0]?.data.sessionId;
  const [first, second] = await Promise.all([sessionOf(ana, 'shared'), sessionOf(ana, 'shared')]);
  expect(second).toBe(first);
  expect(await sessionOf(ana, String(first))).toBe(first);
  const other = await sessionOf(ben, String(first));
  expect(other).not.toBe(first);
  expect(await sessionOf(ben, 'shared')).not.toBe(first);
});
