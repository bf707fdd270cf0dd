import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectFrames } from './read-frames.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const json = { 'content-type': 'application/json' };
let agent: TestAgent;
let ana: TestUser;

beforeAll(async () => {
  agent = await startTestAgent();
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

describe('public routes', () => {
  test('landing and liveness have their fields', async () => {
    expect((await request(agent.url)).body).toEqual({
      status: 'ok',
      message: expect.any(String),
      timestamp: expect.stringMatching(/Z$/),
    });
    expect(await request(`${agent.url}/health`)).toMatchObject({
      status: 200,
      body: { status: 'ok', timestamp: expect.any(String) },
    });
  });

  test('metrics are for operators', async () => {
    await using guarded = await startTestAgent({ env: { OPERATOR_TOKEN: 'a-long-random-text' } });
    expect((await request(`${guarded.url}/metrics`)).status).toBe(401);
    const headers = { authorization: 'Bearer a-long-random-text' };
    expect((await request(`${guarded.url}/metrics`, { headers })).body).toContain('http_request_duration_seconds');
  });
});

describe('errors', () => {
  test.each([
    ['malformed JSON', { 'content-type': 'application/json' }, '{"message":', 400, 'BAD_REQUEST'],
    ['another content type', { 'content-type': 'text/plain' }, 'hello', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'message=x', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a compressed body', { ...json, 'content-encoding': 'gzip' }, '{"message":"x"}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [
      'text of another charset',
      { 'content-type': 'application/json; charset=utf-16' },
      '{}',
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['what is not UTF-8', json, Buffer.from('{"message":"\xff"}', 'latin1'), 400, 'BAD_REQUEST'],
    ['more than 1 MiB', { 'content-type': 'application/json' }, `"${'x'.repeat(1_048_576)}"`, 413, 'PAYLOAD_TOO_LARGE'],
    ['no body', {}, undefined, 400, 'VALIDATION_FAILED'],
    [
      'a poisoned prototype',
      { 'content-type': 'application/json' },
      '{"__proto__":{"message":"x"}}',
      400,
      'VALIDATION_FAILED',
    ],
  ])('%s has the body of the contract', async (_what, headers, body, statusCode, code) => {
    const sessionId = await ana.createSession();
    const reply = await request(`${agent.url}/messages/${sessionId}`, {
      method: 'POST',
      headers: { ...ana.headers, ...headers, 'x-request-id': 'r 7' } as Record<string, string>,
      body: body ?? null,
    });
    expect(reply).toMatchObject({ status: statusCode, body: { statusCode, code, message: expect.any(String) } });
    expect(reply.headers.get('x-request-id')).toBe('r 7');
    expect(JSON.stringify(reply.body)).not.toMatch(/\.ts|node_modules| {4}at /);
  });

  test('an unknown route is a 404 in the same body, for everyone', async () => {
    for (const path of ['/nothing', '/messages', '/sessions/', '/runs']) {
      const reply = await request(`${agent.url}${path}`, { method: path === '/messages' ? 'PUT' : 'GET' });
      expect(reply).toMatchObject({ status: 404, body: { statusCode: 404, error: 'Not Found', code: 'NOT_FOUND' } });
      expect(reply.headers.get('x-request-id')).toBeTruthy();
    }
  });

  test.each([
    ['{"metadata":', '}'],
    ['{"title":"deep","other":', '}'],
  ])('a body of a hundred thousand brackets in %s is bad input, not a fault', async (before, after) => {
    const body = `${before}${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}${after}`;
    expect(await ana.send('POST', '/sessions', body)).toMatchObject({ status: 400, body: { statusCode: 400 } });
  });

  test('what is not HTTP gets the same body', async () => {
    const socket = connect(Number(new URL(agent.url).port), '127.0.0.1');
    socket.end('BLURB\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ statusCode: 400, code: 'BAD_REQUEST' });
  });
});

describe('request ids', () => {
  test('a given one is echoed, on streams too, and is the requestId of everything', async () => {
    const sessionId = await ana.createSession();
    const headers = { ...ana.headers, 'content-type': 'application/json', 'x-request-id': '~ my id !' };
    const body = JSON.stringify({ message: 'call me Ana', stream: true });
    const response = await fetch(`${agent.url}/messages/${sessionId}`, { method: 'POST', headers, body });
    expect(response.headers.get('x-request-id')).toBe('~ my id !');
    for (const { data } of await collectFrames(response))
      if ('requestId' in data) expect(data.requestId).toBe('~ my id !');
    const { messages } = (await ana.send('GET', `/messages/${sessionId}`)).body;
    expect(messages.map(({ requestId }: { requestId: string }) => requestId)).toEqual(['~ my id !', '~ my id !']);
  });

  test.each([['x'.repeat(129)], ['ümlaut'], ['']])('%.10s… is replaced', async (id) => {
    const echoed = (await request(agent.url, { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    expect(echoed).toMatch(/^[0-9a-f-]{36}$/);
    expect(
      (await request(agent.url, { headers: { 'x-request-id': 'x'.repeat(128) } })).headers.get('x-request-id'),
    ).toBe('x'.repeat(128));
  });

  test('are on every log line of a request', async () => {
    await request(`${agent.url}/nothing`, { headers: { 'x-request-id': 'find-me' } });
    const lines = agent
      .log()
      .split('\n')
      .filter((line) => line.includes('/nothing'));
    expect(lines.map((line) => JSON.parse(line).requestId)).toContain('find-me');
  });
});

describe('cross-origin rules', () => {
  const preflight = (url: string, origin: string, asked = 'x-auth-type') =>
    request(`${url}/messages/x`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked },
    });

  test('any origin without credentials by default', async () => {
    const { status, headers } = await preflight(agent.url, 'https://a.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE, PATCH, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toBe(
      'Content-Type, Authorization, x-ucan-delegation, x-matrix-access-token, x-matrix-homeserver, x-did, x-request-id, x-auth-type, x-timezone, idempotency-key, x-socket-id',
    );
    const error = await request(`${agent.url}/sessions`, { headers: { origin: 'https://a.example' } });
    expect(error.headers.get('access-control-allow-origin')).toBe('*');
    expect(error.headers.get('access-control-expose-headers')).toBe(
      'X-Request-Id, Retry-After, X-Run-Id, X-Message-Id, Mcp-Session-Id, WWW-Authenticate',
    );
  });

  test('headers of standard clients are allowed, others are not', async () => {
    const standard = 'x-stainless-retry-count, openai-beta, mcp-protocol-version, a2a-version, last-event-id';
    const { headers } = await preflight(agent.url, 'https://a.example', `${standard}, x-other, x-stainless-`);
    const allowed = headers.get('access-control-allow-headers')?.split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['Authorization', ...standard.split(', ')]));
    expect(allowed).not.toEqual(expect.arrayContaining(['x-other']));
    expect(allowed).not.toEqual(expect.arrayContaining(['x-stainless-']));
  });

  test('named origins with credentials, others not at all', async () => {
    await using named = await startTestAgent({ env: { CORS_ORIGIN: 'https://a.example, https://b.example' } });
    for (const origin of ['https://a.example', 'https://b.example']) {
      const { headers } = await preflight(named.url, origin);
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('vary')).toContain('Origin');
    }
    const { headers } = await preflight(named.url, 'https://evil.example');
    expect(headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
    expect(headers.get('access-control-allow-origin')).not.toBe('*');
    // CORS leaves sockets open to every page, so their handshakes are refused.
    for (const transport of ['polling', 'websocket']) {
      const handshake = (origin?: string) =>
        statusOfHandshake(`${named.url}/socket.io/?EIO=4&transport=${transport}`, origin);
      const opened = transport === 'polling' ? 200 : 101;
      expect([await handshake(), await handshake('https://a.example')]).toEqual([opened, opened]);
      expect(await handshake('https://evil.example')).toBe(transport === 'polling' ? 403 : 400);
    }
  });
});

async function statusOfHandshake(url: string, origin?: string): Promise<number | undefined> {
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
  };
  const headers = { ...(url.endsWith('websocket') && upgrade), ...(origin && { origin }) };
  const sent = get(url, { headers, agent: false });
  const [{ statusCode, socket }] = await Promise.race([once(sent, 'response'), once(sent, 'upgrade')]);
  socket.destroy();
  return statusCode;
}

test('the rate limit counts sends of a DID, not what auth or validation refuse', async () => {
  await using strict = await startTestAgent({ env: { SENDS_PER_MINUTE: '3' } });
  const [user, other] = [await strict.createUser(), await strict.createUser()];
  const sessionId = await user.createSession();
  for (let count = 0; count < 5; count += 1) {
    expect((await user.say(sessionId, '')).status).toBe(400);
    expect((await request(`${strict.url}/messages/${sessionId}`, { method: 'POST' })).status).toBe(401);
    expect((await user.send('GET', `/messages/${sessionId}`)).status).toBe(200);
  }
  for (const left of ['2', '1', '0']) {
    const { status, headers } = await user.say(sessionId, 'hello');
    expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([200, '3', left]);
  }
  // The same person with another token is the same person.
  const again = await strict.createUser(user.signer);
  const refused = await again.say(sessionId, 'hello', { stream: true });
  expect(refused).toMatchObject({ status: 429, body: { statusCode: 429, code: 'RATE_LIMITED' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await other.say(await other.createSession(), 'hello')).status).toBe(200);
});
