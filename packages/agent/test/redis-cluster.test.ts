// Two instances that are joined by a Redis Cluster of three nodes.
import { createTestDatabase, startRedisCluster, testWithRedis } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { expect } from 'vitest';
import { openSocket } from './connect-socket.ts';
import { collectFrames } from './read-frames.ts';
import { startTestAgent } from './test-agent.ts';

testWithRedis('limits, streams, queues and sockets are shared by way of a cluster', async ({ redisUrl: _ }) => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase('postgres'));
  const ORACLE_PRIVATE_KEY = (await createSigner()).toSecret();
  const cluster = stack.use(await startRedisCluster());
  const env = { REDIS_URL: cluster.url, ORACLE_PRIVATE_KEY, SENDS_PER_MINUTE: '12' };
  const agents = [
    stack.use(await startTestAgent({ env, databaseUrl: database.url })),
    stack.use(await startTestAgent({ env, databaseUrl: database.url })),
  ] as const;
  const one = await agents[0].createUser();
  const two = await agents[1].createUser(one.signer);
  const sessionId = await one.createSession();

  const stream = await one.stream(sessionId, '/long 40');
  const followed = two.follow(stream.headers.get('x-run-id') ?? '').then(collectFrames);
  // Waits in the queue behind it, on the other instance.
  const second = two.say(sessionId, 'hello');
  const frames = await collectFrames(stream);
  expect(await followed).toEqual(frames);
  expect(frames.at(-1)).toMatchObject({ event: 'done', data: { status: 'complete' } });
  expect((await second).body.message.status).toBe('complete');

  const page = openSocket(agents[1].url, { query: { sessionId }, auth: { invocation: two.invocation } });
  page.socket.on('browser_tool_call', ({ toolCallId }) => page.socket.emit('tool_result', { toolCallId, result: 42 }));
  await page.event('connected');
  const tools = [{ name: 'ask', description: 'Asks', schema: { type: 'object' } }];
  expect((await one.say(sessionId, '/tool ask {}', { tools })).body).toMatchObject({
    message: { toolCalls: [{ status: 'done', output: 42 }] },
  });
  page.socket.disconnect();

  const statuses = [];
  for (const user of [one, two, one, two, one, two, one, two, one, two])
    statuses.push((await user.say(sessionId, 'hello')).status);
  expect(statuses).toEqual([...Array(9).fill(200), 429]);
  for (const agent of agents) expect(agent.log()).not.toMatch(/"level":"(warn|error)"/);
});
