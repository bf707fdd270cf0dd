// Whatever comes in, the service answers with less than a 500 and continues.
import { connect } from 'node:net';
import { engines } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSocket } from './connect-socket.ts';
import { delegate, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const text = fc.string({ unit: 'binary', maxLength: 40 });
const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
const fields = [
  'message',
  'stream',
  'returnAllMessages',
  'model',
  'tools',
  'agActions',
  'attachments',
  'mcpInvocations',
  'timezone',
  'homeServer',
  'metadata',
  'title',
  'raw',
  'issuer',
  'audience',
  'expiration',
  'sessionId',
] as const;
const body = fc.oneof(
  json,
  fc.dictionary(fc.constantFrom(...fields), json),
  // Close to what is right, so that the fuzz gets past the first check.
  fc.record({
    message: fc.oneof(
      text,
      fc.constantFrom('/tool pick {}', 'call me \u0000', '/tool set_user_preferences {"tone":1}'),
    ),
    tools: fc.array(fc.record({ name: fc.constantFrom('pick', 'a b', ''), description: text, schema: json })),
    timezone: fc.oneof(text, fc.constant('Africa/Nairobi')),
    metadata: fc.dictionary(text, json),
    title: text,
  }),
);
// What HTTP lets through as a header value.
const headerCode = fc.oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }));
const headerValue = fc.string({ unit: headerCode.map((code) => String.fromCharCode(code)) });

describe.each(engines)('fuzz on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;
  let sessionId: string;

  beforeAll(async () => {
    agent = await startTestAgent({ engine });
    ana = await agent.createUser();
    sessionId = await ana.createSession();
  });
  afterAll(async () => {
    expect((await request(`${agent.url}/health`)).status).toBe(200);
    expect((await ana.say(sessionId, 'hello')).body.message.status).toBe('complete');
    await agent[Symbol.asyncDispose]();
  });

  test('bodies', async () => {
    const paths = ['/sessions', `/messages/${sessionId}`, '/messages/abort', '/delegation'];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), body, async (path, value) => {
        const reply = await ana.send('POST', path, JSON.stringify(value));
        expect(reply.status).toBeLessThan(500);
        if (reply.status >= 400)
          expect(reply.body).toMatchObject({ statusCode: reply.status, code: expect.any(String) });
      }),
      { numRuns: 150 },
    );
  });

  test('paths and queries', async () => {
    const part = fc.oneof(text, fc.constantFrom(sessionId, '..', '%00', 'abort', 'null')).map(encodeURIComponent);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD'),
        fc.constantFrom('sessions', 'messages', 'runs', 'delegation', 'user-preferences', 'docs', 'models'),
        fc.array(part, { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('limit', 'offset', 'before', 'after', 'x'), text),
        async (method, first, rest, query) => {
          const url = `/${[first, ...rest].join('/')}?${new URLSearchParams(query)}`;
          if (method === 'DELETE' && url.includes(sessionId)) return;
          expect((await ana.send(method, url)).status).toBeLessThan(500);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('headers', async () => {
    const delegation = await delegate(ana.signer, agent.did);
    const names = [
      'authorization',
      'x-auth-type',
      'x-ucan-delegation',
      'x-did',
      'x-matrix-access-token',
      'x-matrix-homeserver',
      'x-timezone',
      'x-request-id',
      'last-event-id',
      'content-type',
      'accept',
      'origin',
    ] as const;
    const good = fc.constantFrom(`Bearer ${ana.invocation}`, 'ucan', delegation, 'application/json', 'Africa/Nairobi');
    const headers = fc.dictionary(fc.constantFrom(...names), fc.oneof(headerValue, good));
    await fc.assert(
      fc.asyncProperty(headers, fc.boolean(), async (more, signedIn) => {
        const { status } = await request(`${agent.url}/messages/${sessionId}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(signedIn && ana.headers), ...more },
          body: '{"message":"x"}',
        });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });

  test('socket events', async () => {
    const page = openSocket(agent.url, { query: { sessionId }, auth: { invocation: ana.invocation } });
    await page.event('connected');
    const names = ['ping', 'status', 'subscribe', 'list-events', 'tool_result', 'action_call_result', 'error', 'x'];
    const payload = fc.oneof(json, fc.uint8Array(), fc.record({ toolCallId: json, sessionId: json, result: json }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), fc.array(payload, { maxLength: 3 }), async (name, payloads) => {
        page.socket.emit(name, ...payloads);
        expect((await page.ask('ping', 'pong')).eventName).toBe('pong');
      }),
      { numRuns: 60 },
    );
    page.socket.close();
  });

  test('handshakes and packets that no client would send', async () => {
    const packet = fc.oneof(
      text,
      fc.constantFrom('40', '40{}', '41', '42["ping"]', '42[', '450-["x"]', '40/admin,{}', '2probe', '5', '6', '4'),
      json.map((value) => `40${JSON.stringify(value)}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(packet, { maxLength: 4 }), async (packets) => {
        const socket = new WebSocket(
          `${agent.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket&sessionId=x`,
        );
        await new Promise((resolve) => socket.addEventListener('open', resolve));
        for (const each of packets) socket.send(each);
        socket.close();
      }),
      { numRuns: 40 },
    );
    for (const query of ['', '?EIO=3', '?EIO=4&transport=x', '?EIO=4&transport=polling&sid=x', '?sessionId=%'])
      expect((await request(`${agent.url}/socket.io/${query}`)).status).toBeLessThan(500);
  });

  test('bytes that are no HTTP', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const socket = connect(Number(new URL(agent.url).port), '127.0.0.1');
        socket.on('error', () => {});
        socket.end(bytes);
        let reply = '';
        for await (const chunk of socket) reply += chunk;
        expect(reply).not.toMatch(/^HTTP\/1\.1 5/);
      }),
      { numRuns: 40 },
    );
  });
});
