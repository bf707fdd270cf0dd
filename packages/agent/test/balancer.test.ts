import { type BalancerOptions, startBalancer, testWithRedis } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { io, type Socket } from 'socket.io-client';
import { expect } from 'vitest';
import { startTestAgent } from './test-agent.ts';

const connections = 10;
/** As the client library connects, and as socket.io-client does by default. */
const clients = { library: ['websocket', 'polling'], default: ['polling', 'websocket'] } as const;

/** How many of some sockets that connect one after the other are let in, behind HAProxy and two instances. */
async function countConnected(redisUrl: string, transports: readonly string[], options: BalancerOptions = {}) {
  const env = { REDIS_URL: redisUrl, ORACLE_PRIVATE_KEY: (await createSigner()).toSecret() };
  await using one = await startTestAgent({ env, engine: 'postgres' });
  await using two = await startTestAgent({ env, databaseUrl: one.databaseUrl });
  await using balancer = await startBalancer(
    [one, two].map(({ url }) => Number(new URL(url).port)),
    options,
  );
  if (balancer.kind !== 'haproxy') return { reason: 'WebSockets through a balancer need haproxy on the PATH' };
  const user = await one.createUser();
  const sessionId = await user.createSession();
  let connected = 0;
  for (let index = 0; index < connections; index += 1) {
    const socket = io(balancer.url, {
      query: { sessionId },
      auth: { invocation: user.invocation },
      transports: [...transports],
      reconnection: false,
      forceNew: true,
    });
    if (await isLetIn(socket)) connected += 1;
    socket.close();
  }
  return { connected };
}

function isLetIn(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once('connected', () => resolve(true));
    socket.once('connect_error', () => resolve(false));
    socket.once('disconnect', () => resolve(false));
  });
}

testWithRedis('WebSocket first needs no sticky sessions', async ({ redisUrl, skip }) => {
  const outcome = await countConnected(redisUrl, clients.library);
  if ('reason' in outcome) return skip(outcome.reason);
  expect(outcome.connected).toBe(connections);
});

testWithRedis(
  'long-polling first fails without sticky sessions, and works with them on /socket.io/',
  async ({ redisUrl, skip }) => {
    const outcome = await countConnected(redisUrl, clients.default);
    if ('reason' in outcome) return skip(outcome.reason);
    // Now and then all requests of a handshake reach the same instance by chance.
    expect(outcome.connected).toBeLessThan(connections / 2);
    expect(await countConnected(redisUrl, clients.default, { stickyPath: '/socket.io/' })).toEqual({
      connected: connections,
    });
  },
);
