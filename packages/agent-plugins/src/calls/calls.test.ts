import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestDatabase } from '@palaver/test-kit';
import { TokenVerifier } from 'livekit-server-sdk';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { request, startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';

const key = {
  LIVEKIT_API_KEY: 'APItest',
  LIVEKIT_API_SECRET: 'a-secret-of-some-length-0123456789',
  OPERATOR_TOKEN: 'operator-token-for-tests',
};
const verifier = new TokenVerifier(key.LIVEKIT_API_KEY, key.LIVEKIT_API_SECRET);

// LiveKit's room service at the wire.
const closed: { path: string; token: string; room: string }[] = [];
let status = 200;
const livekit = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  closed.push({ path: request.url ?? '', token, room: JSON.parse(text).room });
  response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
});
let agent: TestAgent;

beforeAll(async () => {
  livekit.listen(0, '127.0.0.1');
  await once(livekit, 'listening');
  const { port } = livekit.address() as AddressInfo;
  agent = await startTestAgent({ env: { ...key, LIVEKIT_URL: `ws://127.0.0.1:${port}` } });
});

afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  livekit.closeAllConnections();
  await new Promise((resolve) => livekit.close(resolve));
});

beforeEach(() => {
  closed.length = 0;
  status = 200;
});

it('a call has a room, a token LiveKit takes for that room alone, and a key of its own', async () => {
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const first = await user.send('POST', '/calls', { sessionId });
  const second = await user.send('POST', '/calls', { sessionId });
  expect(first.status).toBe(201);
  expect(Object.keys(first.body).sort()).toEqual(['callId', 'encryptionKey', 'roomName', 'token', 'url']);
  const claims = await verifier.verify(first.body.token);
  expect(claims).toMatchObject({ sub: user.did, video: { room: first.body.roomName, roomJoin: true } });
  expect(claims.video).not.toHaveProperty('roomCreate');
  expect(JSON.parse(claims.metadata ?? '')).toEqual({ sessionId, callId: first.body.callId });
  // Clients use the text itself as the key: it must not change its form.
  expect(first.body.encryptionKey).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  for (const field of ['callId', 'roomName', 'token', 'encryptionKey'])
    expect(first.body[field]).not.toBe(second.body[field]);
});

it("gives the agent's own voice a ticket with the same key, for operators and while the call lasts", async () => {
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const { body: call } = await user.send('POST', '/calls', { sessionId });
  const ask = (headers = {}) => request(`${agent.url}/calls/${call.callId}`, { headers });
  const { status, body } = await ask({ authorization: `Bearer ${key.OPERATOR_TOKEN}` });
  expect(status).toBe(200);
  const { callId, url, roomName, encryptionKey } = call;
  expect(body).toEqual({ callId, url, roomName, encryptionKey, sessionId, userDid: user.did, token: body.token });
  expect(await verifier.verify(body.token)).toMatchObject({
    sub: agent.did,
    name: 'Palaver',
    video: { room: roomName, roomJoin: true },
  });
  expect((await ask()).status).toBe(401);
  expect((await user.send('GET', `/calls/${callId}`)).status).toBe(401);
  await user.send('DELETE', `/calls/${callId}`);
  expect((await ask({ authorization: `Bearer ${key.OPERATOR_TOKEN}` })).status).toBe(404);
});

it('hanging up closes the room, once', async () => {
  const user = await agent.createUser();
  const { body } = await user.send('POST', '/calls', { sessionId: await user.createSession() });
  const ended = await user.send('DELETE', `/calls/${body.callId}`);
  expect(ended).toMatchObject({ status: 200, body: { ok: true } });
  expect(closed).toMatchObject([{ path: '/twirp/livekit.RoomService/DeleteRoom', room: body.roomName }]);
  expect(await verifier.verify(closed[0]?.token ?? '')).toMatchObject({ video: { roomCreate: true } });
  const again = await user.send('DELETE', `/calls/${body.callId}`);
  expect(again).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

it('hanging up works when LiveKit does not', async () => {
  status = 500;
  const user = await agent.createUser();
  const { body } = await user.send('POST', '/calls', { sessionId: await user.createSession() });
  expect((await user.send('DELETE', `/calls/${body.callId}`)).body).toEqual({ ok: true });
});

it('belongs to its user and to a session of theirs', async () => {
  const user = await agent.createUser();
  const stranger = await agent.createUser();
  const sessionId = await user.createSession();
  expect(await stranger.send('POST', '/calls', { sessionId })).toMatchObject({
    status: 404,
    body: { code: 'SESSION_NOT_FOUND' },
  });
  const { body } = await user.send('POST', '/calls', { sessionId });
  expect((await stranger.send('DELETE', `/calls/${body.callId}`)).status).toBe(404);
  expect(closed).toEqual([]);
  expect((await user.send('POST', '/calls', {})).status).toBe(400);
  expect((await fetch(`${agent.url}/calls`, { method: 'POST' })).status).toBe(401);
  await user.send('DELETE', `/sessions/${sessionId}`);
  expect((await user.send('DELETE', `/calls/${body.callId}`)).status).toBe(404);
});

it('is kept on PostgreSQL alike', async () => {
  await using database = await createTestDatabase('postgres');
  const { port } = livekit.address() as AddressInfo;
  await using other = await startTestAgent({
    databaseUrl: database.url,
    env: { ...key, LIVEKIT_URL: `ws://127.0.0.1:${port}` },
  });
  const user = await other.createUser();
  const { body } = await user.send('POST', '/calls', { sessionId: await user.createSession() });
  expect((await user.send('DELETE', `/calls/${body.callId}`)).body).toEqual({ ok: true });
  expect((await user.send('DELETE', `/calls/${body.callId}`)).status).toBe(404);
});

it('without LiveKit there are no such routes', async () => {
  await using alone = await startTestAgent({ env: { LIVEKIT_URL: 'wss://calls.example' } });
  const user = await alone.createUser();
  expect((await user.send('POST', '/calls', { sessionId: 'x' })).status).toBe(404);
  expect((await user.send('DELETE', '/calls/x')).status).toBe(404);
});
