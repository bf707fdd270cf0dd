import { createLogger } from '@palaver/service-kit';
import { createTempDir, createTestDatabase, testWithRedis, waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { io } from 'socket.io-client';
import { describe, expect } from 'vitest';
import { createOracleApp, type OracleApp } from '../index.ts';

/** Two instances of one agent on one PostgreSQL and one Redis, with no sticky sessions between them. */
const it = testWithRedis.extend<{ urls: [string, string]; headers: Record<string, string> }>({
  urls: async ({ redisUrl }, use) => {
    const key = (await createSigner()).toSecret();
    await using database = await createTestDatabase('postgres');
    await using dir = await createTempDir();
    const env = {
      REDIS_URL: redisUrl,
      DATABASE_URL: database.url,
      DATA_DIR: dir.path,
      ORACLE_PRIVATE_KEY: key,
      PORT: '0',
      SENDS_PER_MINUTE: '12',
    };
    const apps: OracleApp[] = [];
    for (let index = 0; index < 2; index += 1)
      apps.push(await createOracleApp({ env, logger: createLogger({ name: 'test', level: 'silent' }) }));
    const urls = await Promise.all(apps.map((app) => app.listen()));
    await use(urls as [string, string]);
    await Promise.all(apps.map((app) => app.close()));
  },
  headers: async ({ urls }, use) => {
    const { id } = (await (await fetch(`${urls[0]}/.well-known/did.json`)).json()) as { id: string };
    const { serialized } = await createInvocation({
      issuer: await createSigner(),
      audience: id,
      capability: { can: 'oracle/chat', with: id },
    });
    await use({ authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan', 'content-type': 'application/json' });
  },
});

const post = async (url: string, headers: Record<string, string>, body: unknown = {}) =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });

async function newSession(url: string, headers: Record<string, string>): Promise<string> {
  const reply = (await (await post(`${url}/sessions`, headers)).json()) as { sessionId: string };
  return reply.sessionId;
}

describe('several instances', () => {
  it('turns of one session never overlap, wherever they were sent', async ({ urls, headers }) => {
    const [one, two] = urls;
    const sessionId = await newSession(one, headers);
    const first = post(`${one}/messages/${sessionId}`, headers, { message: '/long 20' });
    await waitFor(
      'the first run',
      async () =>
        ((await (await fetch(`${two}/sessions/${sessionId}/run`, { headers })).json()) as { run: unknown }).run,
    );
    const second = post(`${two}/messages/${sessionId}`, headers, { message: 'hello' });
    await Promise.all([first, second]);
    const { messages } = (await (await fetch(`${two}/messages/${sessionId}`, { headers })).json()) as {
      messages: { type: string; content: string }[];
    };
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'human', 'ai']);
    expect(messages[1]?.content).toMatch(/word20$/);
    expect(messages[2]?.content).toBe('hello');
  });

  it('a run is followed from another instance, character for character, and aborted from there', async ({
    urls,
    headers,
  }) => {
    const [one, two] = urls;
    const sessionId = await newSession(one, headers);
    const stream = await post(`${one}/messages/${sessionId}`, headers, { message: '/long 400', stream: true });
    const runId = stream.headers.get('x-run-id');
    const here = stream.text();
    const there = fetch(`${two}/runs/${runId}?after=3`, { headers }).then((reply) => reply.text());
    await new Promise((resolve) => setTimeout(resolve, 600));
    const aborted = await (await post(`${two}/messages/abort`, headers, { sessionId })).json();
    expect(aborted).toEqual({ ok: true, aborted: true, success: true });
    const whole = await here;
    expect(whole).toMatch(/"status":"aborted"\}\n\n$/);
    expect(await there).toBe(whole.slice(whole.indexOf('event: message\nid: 4\n')));
  });

  it('a page connected to one instance answers a turn that runs on the other', async ({ urls, headers }) => {
    const [one, two] = urls;
    const sessionId = await newSession(one, headers);
    const invocation = headers.authorization?.slice('Bearer '.length);
    const socket = io(two, { query: { sessionId }, auth: { invocation }, transports: ['websocket'] });
    socket.on('browser_tool_call', ({ toolCallId, args }) =>
      socket.emit('tool_result', { toolCallId, result: { doubled: args.n * 2 } }),
    );
    const heard: string[] = [];
    socket.on('message_cache_invalidation', ({ sessionId: about }) => heard.push(about));
    await new Promise((resolve) => socket.once('connected', resolve));
    const tools = [
      { name: 'double', description: 'Doubles', schema: { type: 'object', properties: { n: { type: 'number' } } } },
    ];
    const reply = await (
      await post(`${one}/messages/${sessionId}`, headers, { message: '/tool double {"n": 21}', tools })
    ).json();
    expect(reply).toMatchObject({
      message: { toolCalls: [{ name: 'double', status: 'done', output: { doubled: 42 } }] },
    });
    await waitFor('the other instance’s word', () => heard.includes(sessionId));
    socket.disconnect();
  });

  it('the limit of sends is one for all instances', async ({ urls, headers }) => {
    const [one, two] = urls;
    const sessionId = await newSession(one, headers);
    const codes = [];
    for (let index = 0; index < 14; index += 1)
      codes.push((await post(`${index % 2 ? one : two}/messages/${sessionId}`, headers, { message: 'hi' })).status);
    expect(codes).toEqual([...Array(12).fill(200), 429, 429]);
  });
});
