import { testWithRedis, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { describe, expect } from 'vitest';
import { openSocket } from './connect-socket.ts';
import { collectText } from './read-frames.ts';
import { delegate, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

/**
 * Two instances of one agent on one PostgreSQL and one Redis, with no sticky sessions between them, and one user who
 * calls the one or the other.
 */
const it = testWithRedis.extend<{ agents: [TestAgent, TestAgent]; users: [TestUser, TestUser] }>({
  agents: async ({ redisUrl }, use) => {
    const key = (await createSigner()).toSecret();
    const env = { REDIS_URL: redisUrl, ORACLE_PRIVATE_KEY: key, SENDS_PER_MINUTE: '12' };
    await using one = await startTestAgent({ env, engine: 'postgres' });
    await using two = await startTestAgent({ env, databaseUrl: one.databaseUrl });
    await use([one, two]);
  },
  users: async ({ agents: [one, two] }, use) => {
    const user = await one.createUser();
    await use([user, await two.createUser(user.signer)]);
  },
});

describe('several instances', () => {
  it('turns of one session never overlap, wherever they were sent', async ({ users: [one, two] }) => {
    const sessionId = await one.createSession();
    const first = one.say(sessionId, '/long 20');
    await waitFor('the first run', () => two.liveRun(sessionId));
    await Promise.all([first, two.say(sessionId, 'hello')]);
    const messages = await two.messages(sessionId);
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'human', 'ai']);
    expect(messages[1].content).toMatch(/word20$/);
    expect(messages[2].content).toBe('hello');
  });

  it('a run is followed from another instance, character for character, and aborted from there', async ({
    users: [one, two],
  }) => {
    const sessionId = await one.createSession();
    const stream = await one.stream(sessionId, '/long 400');
    const there = collectText(await two.follow(stream.headers.get('x-run-id') ?? '', '?after=3'));
    const here = collectText(stream);
    await waitFor('frames on both instances', () => [here, there].every(({ text }) => text.includes('id: 5\n')));
    expect((await two.abort(sessionId)).body).toEqual({ ok: true, aborted: true, success: true });
    const whole = await here.whole;
    expect(whole).toMatch(/"status":"aborted"[^\n]*\}\n\n$/);
    expect(await there.whole).toBe(whole.slice(whole.indexOf('event: message\nid: 4\n')));
  });

  it('a page connected to one instance answers a turn that runs on the other', async ({
    agents,
    users: [one, two],
  }) => {
    const sessionId = await one.createSession();
    const page = openSocket(agents[1].url, { query: { sessionId }, auth: { invocation: two.invocation } });
    page.socket.on('browser_tool_call', ({ toolCallId, args }) =>
      page.socket.emit('tool_result', { toolCallId, result: { doubled: args.n * 2 } }),
    );
    await page.event('connected');
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    const tools = [{ name: 'double', description: 'Doubles', schema }];
    expect((await one.say(sessionId, '/tool double {"n": 21}', { tools })).body).toMatchObject({
      message: { toolCalls: [{ name: 'double', status: 'done', output: { doubled: 42 } }] },
    });
    expect(await page.event('message_cache_invalidation')).toMatchObject({ sessionId });
    const countIgnored = async () => {
      const metrics = await Promise.all(agents.map(({ url }) => fetch(`${url}/metrics`).then((reply) => reply.text())));
      return metrics.map((text) => Number(/^agent_ignored_client_results_total(?:\{.*\})? (\d+)$/m.exec(text)?.[1]));
    };
    expect(await countIgnored()).toEqual([0, 0]);
    page.socket.emit('tool_result', { toolCallId: 'nobody waits', result: 1 });
    await waitFor('the result to be counted once', async () => (await countIgnored())[1] === 1);
    expect(await countIgnored()).toEqual([0, 1]);
    page.socket.disconnect();
  });

  it('a page that sends through one instance gets the call by its socket on the other', async ({
    agents,
    users: [one, two],
  }) => {
    const sessionId = await one.createSession();
    const connect = async (url: string, name: string) => {
      const page = openSocket(url, { query: { sessionId }, auth: { invocation: two.invocation } });
      page.socket.on('browser_tool_call', ({ toolCallId }) =>
        page.socket.emit('tool_result', { toolCallId, result: name }),
      );
      await page.event('connected');
      return page;
    };
    const sender = await connect(agents[1].url, 'sender');
    const latest = await connect(agents[0].url, 'latest');
    const tools = [{ name: 'ask', description: 'Asks', schema: { type: 'object' } }];
    const send = (headers = {}) =>
      one.send('POST', `/messages/${sessionId}`, { message: '/tool ask {}', tools }, headers);
    const outputOf = ({ body }: Awaited<ReturnType<typeof send>>) => body.message.toolCalls[0].output;
    expect(outputOf(await send({ 'x-socket-id': sender.socket.id }))).toBe('sender');
    expect(outputOf(await send())).toBe('latest');
    for (const { socket } of [sender, latest]) socket.disconnect();
  });

  it('a delegation revoked on one instance lets go of the sockets of the other', async ({ agents, users: [one] }) => {
    const sessionId = await one.createSession();
    const ucanDelegation = await delegate(one.signer, agents[0].did);
    await one.send('POST', '/delegation', { raw: ucanDelegation });
    const page = openSocket(agents[1].url, { query: { sessionId }, auth: { ucanDelegation } });
    await page.event('connected');
    await one.send('DELETE', '/delegation');
    expect(await page.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    expect(await page.disconnected()).toBe(true);
  });

  it('the limit of sends is one for all instances', async ({ users: [one, two] }) => {
    const sessionId = await one.createSession();
    const codes = [];
    for (let index = 0; index < 14; index += 1) codes.push((await (index % 2 ? one : two).say(sessionId, 'hi')).status);
    expect(codes).toEqual([...Array(12).fill(200), 429, 429]);
  });
});
