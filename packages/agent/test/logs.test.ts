import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/index.ts';
import { openSocket } from './connect-socket.ts';
import { type Homeserver, startHomeserver } from './homeserver.ts';
import { type Answer, callTools, openStream, say, startOpenAiServer } from './openai-server.ts';
import { delegate, startTestAgent, type TestAgent } from './test-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startTestAgent();
});
afterAll(() => agent[Symbol.asyncDispose]());

test('no token and no secret header reaches the log, at any level and whatever goes wrong', async () => {
  const ana = await agent.createUser();
  const eve = await agent.createUser();
  const delegation = await delegate(ana.signer, agent.did);
  const secrets = { 'x-ucan-delegation': delegation, 'x-matrix-access-token': 'syt_matrix_secret_token' };
  const sessionId = await ana.createSession();
  const path = `/messages/${sessionId}`;
  const mcpInvocations = { a__b: ana.invocation };

  await ana.send('POST', path, { message: 'hello', mcpInvocations }, secrets);
  await ana.send('POST', path, { message: '', mcpInvocations: { a__b: 7 }, delegation }, secrets);
  await ana.send('POST', path, `{"message":"x","mcpInvocations":{"a":"${ana.invocation}"`, secrets);
  await ana.send('POST', '/delegation', { raw: delegation });
  await ana.send('POST', '/delegation', { raw: `${delegation}x`, expiration: -1 });
  await eve.send('POST', '/delegation', { raw: delegation });
  await ana.send('DELETE', '/delegation');
  await ana.send('GET', `/sessions?limit=x&token=${encodeURIComponent(ana.invocation)}`);
  await ana.send('GET', '/nothing', undefined, secrets);
  await ana.send('GET', '/sessions', undefined, { authorization: `Bearer ${ana.invocation}AAAA` });
  const socket = openSocket(agent.url, {
    query: { sessionId },
    auth: { invocation: ana.invocation, ucanDelegation: delegation },
  });
  await socket.event('connected');
  socket.socket.emit('tool_result', { toolCallId: 'x', result: ana.invocation });
  await socket.ask('ping', 'pong');
  socket.socket.close();

  const log = agent.log();
  expect(log.split('\n').length).toBeGreaterThan(10);
  // Of a base64 CAR the beginning is always the same; the middle distinguishes them.
  for (const token of [ana.invocation, eve.invocation, delegation])
    for (const part of [token.slice(100, 130), encodeURIComponent(token).slice(100, 130)])
      expect(log).not.toContain(part);
  expect(log).not.toContain('syt_matrix_secret_token');
  expect(log).not.toContain('hello');
});

const canary = 'kanarienvogel';

/** A provider that quotes the prompt in whatever it says of its failure, as real ones do. */
const quoting: Record<string, Answer> = {
  'a refusal': (response, { body }) =>
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: `bad prompt: ${JSON.stringify(body)}`, type: 'x', code: 'x' } })),
  'a page in place of JSON': (response, { body }) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end(`<p>${JSON.stringify(body)}</p>`),
  'a broken frame': (response, { body }) => {
    openStream(response);
    response.end(`data: {"quoted": ${JSON.stringify(body).slice(0, -5)}\n\n`);
  },
  'a frame of another shape': (response, { body }) => {
    openStream(response);
    response.end(`data: ${JSON.stringify({ choices: body })}\n\ndata: [DONE]\n\n`);
  },
  'an error in the stream': (response, { body }) => {
    openStream(response);
    response.end(`data: ${JSON.stringify({ error: { message: JSON.stringify(body), code: 'x' } })}\n\n`);
  },
  'a cut connection': (response) => {
    openStream(response);
    response.write(`data: {"choices":[{"delta":{"content":"${canary}`);
    setTimeout(() => response.destroy(), 50);
  },
};

test.each(Object.entries(quoting))(
  'what was said stays out of the log when the provider fails with %s',
  async (_how, answer) => {
    await using provider = await startOpenAiServer(answer);
    await using failing = await startTestAgent({
      env: { LLM_PROVIDER: 'compatible', LLM_BASE_URL: provider.url, LLM_API_KEY: canary, LLM_MODEL: 'm' },
    });
    const ana = await failing.createUser();
    const sessionId = await ana.createSession();
    for (const stream of [false, true])
      await (await ana.stream(sessionId, `my secret is ${canary}`, { stream })).text();
    expect(provider.requests.length).toBeGreaterThan(1);
    expect(JSON.stringify(provider.requests[0]?.body)).toContain(canary);
    expect(failing.log()).toMatch(/"level":"warn".*"a turn failed"/);
    expect(failing.log()).not.toContain(canary);
  },
);

test.each([
  { of: 'its author', env: {}, refusal: 'request (401). It said: Incorrect API key provided: ****.' },
  { of: 'others', env: { TRUST_PROXY_ENABLED: 'true' }, refusal: 'request (401)."' },
])('why the provider refused is in the log, without the key; the reply to $of', async ({ env, refusal }) => {
  const key = 'sk-proj-7Kq2vN';
  const body = { error: { message: `Incorrect API key provided: ${key}.`, type: 'auth', code: 'invalid_api_key' } };
  await using provider = await startOpenAiServer((response) => {
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await using failing = await startTestAgent({
    env: { ...env, LLM_PROVIDER: 'compatible', LLM_BASE_URL: provider.url, LLM_API_KEY: key, LLM_MODEL: 'm' },
  });
  const ana = await failing.createUser();
  const events = await (await ana.stream(await ana.createSession(), 'hello')).text();
  expect(events).toContain(`The language model refused the ${refusal}`);
  const [line = ''] = failing
    .log()
    .split('\n')
    .filter((text) => text.includes('a turn failed'));
  expect(JSON.parse(line).provider).toEqual({
    statusCode: 401,
    type: 'auth',
    code: 'invalid_api_key',
    message: 'Incorrect API key provided: ****.',
  });
});

test('what tools are given and what they throw stays out of the log', async () => {
  const plugin = defineOraclePlugin({
    name: 'thrower',
    version: '1.0.0',
    manifest: { title: 'T', summary: 'T.', whenToUse: ['never'], visibility: 'always', stability: 'stable' },
    getTools: () => ({
      throw_error: tool((text) => Object.assign(new Error(`no such text: ${text}`), { text })),
      throw_cause: tool((text) => new Error('failed', { cause: new Error(text) })),
      throw_text: tool((text) => text),
      throw_object: tool((text) => ({ text })),
    }),
  });
  await using mcp = await startQuotingMcpServer();
  const home = await startHomeserver();
  const args = JSON.stringify({ text: canary });
  const names = ['throw_error', 'throw_cause', 'throw_text', 'throw_object', 'quoter__echo'];
  await using provider = await startOpenAiServer(callTools(names.map((name) => ({ name, args }))), say('done'));
  await using failing = await startTestAgent({
    plugins: [plugin],
    env: {
      LLM_PROVIDER: 'compatible',
      LLM_BASE_URL: provider.url,
      LLM_API_KEY: 'key',
      LLM_MODEL: 'm',
      MCP_SERVERS: JSON.stringify([{ name: 'quoter', url: mcp.url, approval: 'never' }]),
      MATRIX_ALLOWED_HOSTS: home.host,
    },
  });
  const ana = await failing.createUser();
  const sessionId = await ana.createSession();
  const reply = await ana.say(sessionId, canary);
  expect(reply.body.message.toolCalls.map(({ status }: { status: string }) => status)).toEqual(
    names.map(() => 'error'),
  );
  home.media.set('x', Buffer.from(`%PDF-1.7 ${canary}`));
  const attachments = [
    { mxcUri: 'mxc://home.example/x', filename: `${canary}.pdf`, mimetype: 'application/pdf' },
    { mxcUri: 'mxc://home.example/missing', filename: `${canary}.txt`, mimetype: 'text/plain' },
  ];
  const { file, key } = encryptFile(home);
  const encrypted = [
    { ...file, hashes: { sha256: 'AAAA' } },
    { ...file, iv: 'AAAA' },
    { ...file, key: { ...file.key, k: `${key}AAAA` } },
    file,
  ].map((changed) => ({ file: changed, filename: `${canary}.pdf`, mimetype: 'application/pdf' }));
  for (const attachment of [...attachments, ...encrypted]) {
    const sent = await ana.say(sessionId, canary, { attachments: [attachment], homeServer: home.url });
    expect(sent.status).toBe(422);
  }
  const malformed = { file: { ...file, iv: 7 }, filename: canary, mimetype: 'text/plain' };
  expect((await ana.say(sessionId, canary, { attachments: [malformed], homeServer: home.url })).status).toBe(400);
  await home.close();
  expect(failing.log()).toContain('a tool failed');
  for (const secret of [canary, key]) expect(failing.log()).not.toContain(secret);
});

test('what was said and the keys stay out of the log when a message is not paid for', async () => {
  const dataKey = randomBytes(32).toString('hex');
  const operatorToken = `${canary}-operator-token-of-enough-length`;
  await using strict = await startTestAgent({
    env: {
      CREDITS_ENABLED: 'true',
      CREDITS_FREE: '0',
      OPERATOR_TOKEN: operatorToken,
      DATA_ENCRYPTION_KEY: dataKey,
    },
  });
  const ana = await strict.createUser();
  const sessionId = await ana.createSession();
  for (const stream of [false, true]) expect((await ana.say(sessionId, canary, { stream })).status).toBe(402);
  const payment = { did: ana.did, amount: 10, idempotencyKey: 'payment-1' };
  const book = (body: object, token = operatorToken) =>
    ana.send('POST', '/credits/top-up', body, { authorization: `Bearer ${token}` });
  expect((await book(payment, `${canary}-wrong`)).status).toBe(401);
  expect((await book({ ...payment, amount: canary })).status).toBe(400);
  expect((await book(payment)).status).toBe(200);
  expect((await ana.say(sessionId, canary)).status).toBe(200);
  expect(strict.log()).toContain('402');
  for (const secret of [canary, dataKey]) expect(strict.log()).not.toContain(secret);
});

/** A file that is not the PDF it says it is, as an encrypted room holds it. */
function encryptFile(home: Homeserver) {
  const secret = randomBytes(32);
  const iv = Buffer.alloc(16);
  const cipher = createCipheriv('aes-256-ctr', secret, iv);
  const bytes = Buffer.concat([cipher.update(`%PDF-1.7 ${canary}`), cipher.final()]);
  home.media.set('sealed', bytes);
  const key = secret.toString('base64url');
  const file = {
    url: 'mxc://home.example/sealed',
    key: { k: key, alg: 'A256CTR' },
    iv: iv.toString('base64').replace(/=+$/, ''),
    hashes: { sha256: createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '') },
  };
  return { file, key };
}

function tool(fail: (text: string) => unknown) {
  return {
    description: 'Fails.',
    inputSchema: z.object({ text: z.string() }),
    execute({ text }: { text: string }) {
      throw fail(text);
    },
  };
}

/** Refuses every call, quoting it, in the three ways the protocol has. */
async function startQuotingMcpServer() {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, method, params } = text === '' ? ({} as Record<string, never>) : JSON.parse(text);
    const reply = (body: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    if (method === 'initialize') {
      const { protocolVersion } = params;
      return reply({
        result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'q', version: '1' } },
      });
    }
    if (method === 'tools/list')
      return reply({ result: { tools: [{ name: 'echo', description: 'Echoes', inputSchema: { type: 'object' } }] } });
    if (method === 'tools/call') return response.writeHead(500).end(`cannot do ${text}`);
    return id === undefined ? response.writeHead(202).end() : reply({ result: {} });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
