import { once } from 'node:events';
import { connect as connectRaw } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientEvents, serverEventPayloadSchemas, serverEvents } from '@palaver/contract/internal';
import { waitFor } from '@palaver/test-kit';
import { createInvocation } from '@palaver/ucan';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openSocket, refusalOf, type SocketOptions, type TestSocket } from './connect-socket.ts';
import { createGate } from './gate-plugin.ts';
import { chatCapability, delegate, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const gate = createGate();
const opened: TestSocket[] = [];
let agent: TestAgent;
let ana: TestUser;
let sessionId: string;

beforeAll(async () => {
  agent = await startTestAgent({ plugins: [gate.plugin] });
  ana = await agent.createUser();
});
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.close();
});
afterAll(() => agent[Symbol.asyncDispose]());

function open(options: SocketOptions): TestSocket {
  const socket = openSocket(agent.url, options);
  opened.push(socket);
  return socket;
}

async function connect(user: TestUser, more: Partial<SocketOptions> = {}): Promise<TestSocket> {
  sessionId = await user.createSession();
  const socket = open({ query: { sessionId }, auth: { invocation: user.invocation }, ...more });
  await socket.event('connected');
  return socket;
}

/** The contract's two forms at once, the payload as its schema says. */
function expectEnveloped(name: keyof typeof serverEventPayloadSchemas, event: Record<string, unknown>) {
  const { eventName, payload, ...flat } = event;
  expect(eventName).toBe(name);
  expect(payload).toEqual(flat);
  expect(serverEventPayloadSchemas[name].strict().parse(payload)).toEqual(payload);
}

describe('a handshake', () => {
  test.each([['websocket'], ['polling']] as const)('is answered with connected, over %s', async (transport) => {
    const socket = await connect(ana, { transports: [transport] });
    const connected = await socket.event('connected');
    expectEnveloped('connected', connected);
    expect(connected).toMatchObject({ sessionId, did: ana.did });
  });

  test('takes a delegation as the fallback, and the DID from the token only', async () => {
    sessionId = await ana.createSession();
    const ucanDelegation = await delegate(ana.signer, agent.did);
    const socket = open({ query: { sessionId, did: 'did:key:zEve' }, auth: { ucanDelegation, did: 'did:key:zEve' } });
    expect(await socket.event('connected')).toMatchObject({ did: ana.did });
  });

  test.each([[''], [null]])('takes an invocation of %j for none, like an empty header', async (invocation) => {
    const auth = { invocation, ucanDelegation: await delegate(ana.signer, agent.did) };
    expect(await (await connect(ana, { auth })).event('connected')).toMatchObject({ did: ana.did });
  });

  test.each<[string, (own: string) => SocketOptions | Promise<SocketOptions>, string]>([
    ['no sessionId', () => ({ auth: { invocation: ana.invocation } }), 'VALIDATION_FAILED'],
    ['no credential', (id) => ({ query: { sessionId: id } }), 'UCAN_MISSING'],
    ['a bad one', (id) => ({ query: { sessionId: id }, auth: { invocation: 'garbage' } }), 'UCAN_MALFORMED'],
    ['one of another type', (id) => ({ query: { sessionId: id }, auth: { invocation: [1] } }), 'VALIDATION_FAILED'],
    [
      'a bad one beside a good delegation',
      async (id) => ({
        query: { sessionId: id },
        auth: { invocation: 'garbage', ucanDelegation: await delegate(ana.signer, agent.did) },
      }),
      'UCAN_MALFORMED',
    ],
    [
      "somebody else's session",
      async (id) => ({ query: { sessionId: id }, auth: { invocation: (await agent.createUser()).invocation } }),
      'SESSION_NOT_FOUND',
    ],
    [
      'no such session',
      () => ({ query: { sessionId: 'x' }, auth: { invocation: ana.invocation } }),
      'SESSION_NOT_FOUND',
    ],
  ])('with %s is refused', async (_what, create, code) => {
    const own = await ana.createSession();
    const socket = open(await create(own));
    expect(await refusalOf(socket)).toMatchObject({
      code,
      statusCode: expect.any(Number),
      message: expect.any(String),
    });
    expect(socket.events).toEqual([]);
  });

  test('that is refused is disconnected by the server at once', async () => {
    const { packets, closed } = await openRaw();
    packets.send('40{}');
    await Promise.race([closed, sleep(9_000).then(() => expect.fail('it was left to the limit of 10 s'))]);
    expect(packets.received.at(-1)).toMatch(/^44\{.*VALIDATION_FAILED/);
  });

  test('that is never finished is dropped', async () => {
    const { packets, closed } = await openRaw();
    await closed; // by the limit of 10 s; pings of the transport do not count
    expect(packets.received[0]).toMatch(/^0\{/);
  });
});

describe('a client event', () => {
  test('ping, status, subscribe and list-events are answered', async () => {
    const socket = await connect(ana);
    const pong = await socket.ask('ping', 'pong');
    expectEnveloped('pong', pong);
    const status = await socket.ask('status', 'status', { any: 'thing' });
    expectEnveloped('status', status);
    expect(status).toMatchObject({ connected: true, sessionId, did: ana.did });
    const subscribed = await socket.ask('subscribe', 'subscribed', { sessionId: 'another' });
    expectEnveloped('subscribed', subscribed);
    expect(subscribed).toMatchObject({ sessionId, events: serverEvents.map(({ name }) => name) });
    const catalogue = await socket.ask('list-events', 'available-events');
    expectEnveloped('available-events', catalogue);
    expect(catalogue).toMatchObject({ serverEvents, clientEvents });
  });

  test('status counts sockets and sessions', async () => {
    const one = await connect(ana);
    const two = open({ query: { sessionId }, auth: { invocation: ana.invocation } });
    await two.event('connected');
    const before = await one.ask('status', 'status');
    two.socket.close();
    await waitFor('the count to fall', async () => {
      const status = await one.ask('status', 'status');
      return status.totalConnections === (before.totalConnections as number) - 1;
    });
    expect((await one.ask('status', 'status')).activeSessions).toBe(before.activeSessions);
  });
});

describe('a turn', () => {
  test('sends tools and the new message to the session’s sockets, and to no others', async () => {
    const stranger = await connect(await agent.createUser());
    const elsewhere = await connect(ana);
    const [one, two] = [await connect(ana), open({ query: { sessionId }, auth: { invocation: ana.invocation } })];
    await two.event('connected');
    const { message } = (await ana.say(sessionId, 'call me Ana')).body;
    for (const socket of [one, two]) {
      // The question is stored, then the answer is.
      const invalidations = () => socket.events.filter(({ name }) => name === 'message_cache_invalidation');
      await waitFor('both announcements', () => invalidations().length === 2);
      for (const { payload } of invalidations()) expectEnveloped('message_cache_invalidation', payload);
      expect(invalidations().map(({ payload }) => payload)).toMatchObject([
        { sessionId },
        { sessionId, messageId: message.id },
      ]);
      expect(socket.events.at(-1)?.payload).toMatchObject({ messageId: message.id });
      const calls = socket.events.filter(({ name }) => name === 'tool_call').map(({ payload }) => payload);
      expect(calls).toMatchObject([
        { toolName: 'set_user_preferences', status: 'isRunning' },
        { toolName: 'set_user_preferences', status: 'done', output: { userName: 'Ana' } },
      ]);
      for (const call of calls) expectEnveloped('tool_call', call);
      expect(socket.events.some(({ name }) => name === 'message')).toBe(false);
    }
    for (const { events } of [stranger, elsewhere]) expect(events.map(({ name }) => name)).toEqual(['connected']);
  });
});

describe('a socket', () => {
  test('receives the error and is disconnected when its credential expires', async () => {
    const expiration = Math.floor(Date.now() / 1000) - 28; // two seconds are left of the clock skew
    const token = { issuer: ana.signer, audience: agent.did, capability: chatCapability, expiration };
    const socket = await connect(ana, { auth: { invocation: (await createInvocation(token)).serialized } });
    const error = await socket.event('error');
    expectEnveloped('error', error);
    expect(error).toMatchObject({ code: 'UCAN_EXPIRED' });
    expect(await socket.disconnected()).toBe(true);
  });

  test('receives the error and is disconnected when the delegation that signed it in is revoked, and no other is', async () => {
    const [byInvocation, ucanDelegation] = [await connect(ana), await delegate(ana.signer, agent.did)];
    await ana.send('POST', '/delegation', { raw: ucanDelegation });
    const [alone, beside] = [
      await connect(ana, { auth: { ucanDelegation } }),
      await connect(ana, { auth: { invocation: ana.invocation, ucanDelegation } }),
    ];
    await ana.send('DELETE', '/delegation');
    const error = await alone.event('error');
    expectEnveloped('error', error);
    expect(error).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    expect(await alone.disconnected()).toBe(true);
    for (const other of [byInvocation, beside]) expect(await other.ask('ping', 'pong')).toBeTruthy();
  });

  test('receives the error and is disconnected when its session is deleted, a running turn or not', async () => {
    const socket = await connect(ana);
    const send = ana.say(sessionId, '/tool gate');
    await gate.reached();
    await ana.send('DELETE', `/sessions/${sessionId}`);
    expect((await send).body.message.status).toBe('aborted');
    expect(await socket.disconnected()).toBe(true);
    const invalidations = socket.events.filter(({ name }) => name === 'message_cache_invalidation');
    expect(invalidations.map(({ payload }) => payload.sessionId)).toContain(sessionId);
  });
});

/** A WebSocket that speaks the packets itself. */
async function openRaw() {
  const ws = new WebSocket(`${agent.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`);
  const received: string[] = [];
  ws.addEventListener('message', ({ data }) => {
    received.push(String(data));
    if (data === '2') ws.send('3');
  });
  const closed = new Promise<void>((resolve) => ws.addEventListener('close', () => resolve()));
  await waitFor('the first packet', () => received.length > 0);
  return { packets: { received, send: (packet: string) => ws.send(packet) }, closed };
}

test('a handshake that names another host is refused, whichever transport it asks for', async () => {
  const { port } = new URL(agent.url);
  const ask = async (host: string, upgrade: boolean) => {
    const socket = connectRaw(Number(port), '127.0.0.1');
    const more = upgrade
      ? 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
      : 'Connection: close\r\n';
    const transport = upgrade ? 'websocket' : 'polling';
    socket.write(`GET /socket.io/?EIO=4&transport=${transport} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
    const [data] = await once(socket, 'data');
    socket.destroy();
    return String(data).split('\r\n')[0];
  };
  expect(await ask('rebound.example', false)).toContain(' 403 ');
  expect(await ask('rebound.example', true)).toContain(' 400 ');
  expect(await ask(`localhost:${port}`, false)).toContain(' 200 ');
  expect(await ask(`127.0.0.1:${port}`, true)).toContain(' 101 ');
});
