// Who waits for whom where requests cost much.
import { once } from 'node:events';
import { connect } from 'node:net';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const large = { title: 'Goats', metadata: { note: 'x'.repeat(70_000) } };

interface Part {
  size?: number;
  part?: string;
  request?: string;
}

/** Sends a request on a connection that stays open; by default one whose body does not end. */
async function sendPart(agent: TestAgent, user: TestUser, { size, part = '{', request = 'POST /sessions' }: Part) {
  const { hostname, port } = new URL(agent.url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  await once(socket, 'connect');
  const length = size === undefined ? 'transfer-encoding: chunked' : `content-length: ${size}`;
  const headers = {
    ...user.headers,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${request} HTTP/1.1\r\nhost: ${hostname}\r\n${length}\r\n`;
  const body = size === undefined ? `${part.length.toString(16)}\r\n${part}\r\n` : part;
  socket.write(`${head}${lines.join('')}\r\n${body}`);
  const replies: string[] = [];
  socket.on('error', () => {}).on('data', (text: string) => replies.push(text));
  return { socket, replies };
}

test.each([{ size: 70_000 }, {}])('bodies that do not arrive hold nothing: %j', async (options) => {
  await using agent = await startTestAgent();
  const ana = await agent.createUser();
  const sent = await Promise.all(Array.from({ length: 60 }, () => sendPart(agent, ana, options)));
  for (let count = 0; count < 3; count += 1) expect((await ana.send('POST', '/sessions', large)).status).toBe(413);
  expect(sent.flatMap(({ replies }) => replies)).toEqual([]);
  // One that is cut off, and one that ends.
  const [cut, ended] = sent;
  cut?.socket.destroy();
  const rest = `${' '.repeat(options.size === undefined ? 100 : 69_998)}}`;
  ended?.socket.write(options.size === undefined ? `${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n` : rest);
  await waitFor('the reply', () => ended?.replies.join('').startsWith('HTTP/1.1 201'));
  for (const { socket } of sent) socket.destroy();
  expect((await ana.send('GET', '/sessions')).status).toBe(200);
  expect(agent.log()).not.toContain('"level":50');
});

test('a place is held until the work is over, however long that takes, and small work needs none', async () => {
  const [begun, ends]: [string[], (() => void)[]] = [[], []];
  await using agent = await startTestAgent({
    env: { TRUST_PROXY_ENABLED: 'true' },
    hooks: {
      addRoutes(server) {
        server.get('/work/:name', async (request) => {
          const { name } = request.params as { name: string };
          await request.takePlace(name === 'small' ? 1_000 : 1_000_000);
          begun.push(name);
          await new Promise<void>((resolve) => ends.push(resolve));
          return { name };
        });
      },
    },
  });
  const users = await Promise.all(Array.from({ length: 6 }, () => agent.createUser()));
  const ask = (at: number, name: string) =>
    users[at]?.send('GET', `/work/${name}`, undefined, { 'x-forwarded-for': `192.0.2.${at}` });
  const replies = [0, 1, 2, 3].map((at) => ask(at, `large-${at}`));
  await waitFor('three', () => begun.length === 3);
  const small = ask(4, 'small');
  await waitFor('the small one', () => begun.includes('small'));
  // Another user is answered in the meantime; the place is not given away.
  for (let count = 0; count < 30; count += 1) expect((await users[5]?.send('GET', '/sessions'))?.status).toBe(200);
  expect(begun).toHaveLength(4);
  ends.shift()?.();
  await waitFor('the fourth', () => begun.length === 5);
  for (const end of ends) end();
  await waitFor('its end', () => ends.length === 4);
  ends.at(-1)?.();
  expect((await Promise.all([...replies, small])).map((reply) => reply?.status)).toEqual([200, 200, 200, 200, 200]);
});

test('no route keeps a place for as long as its client stays', async () => {
  const reached: string[] = [];
  await using agent = await startTestAgent({
    env: { OFFLINE_WORDS_PER_SECOND: '1' },
    hooks: {
      addRoutes(server) {
        server.get('/place', async (request) => {
          await request.takePlace(1_000_000);
          return {};
        });
        server.post('/silent', async () => {
          reached.push('/silent');
          await new Promise(() => {});
        });
        server.post('/open', { schema: { hide: true } }, (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200).flushHeaders();
        });
      },
    },
  });
  const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
  const ana = await agent.createUser();
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '/long 500' }] };
  const send = rpc('SendMessage', { message, configuration: { returnImmediately: true } });
  const { id } = (await ana.send('POST', '/a2a', send)).body.result.task;
  const { paths } = (await ana.send('GET', '/docs/json')).body;
  const documented = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => ['post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => ({ route: `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, id)}`, body: {} })),
  );
  expect(documented.length).toBeGreaterThan(15);
  const streams = [
    { route: 'POST /open', body: {} },
    { route: 'POST /a2a', body: rpc('SubscribeToTask', { id }) },
    ...['initialize', 'ping', 'tools/list', 'tools/call', 'notifications/cancelled'].map((method) => ({
      route: 'POST /mcp',
      body: rpc(method, {}),
    })),
  ];
  // The streams first: the user is erased on the way.
  for (const { route, body } of [...streams, ...documented]) {
    const whole = JSON.stringify({ ...body, more: 'x'.repeat(70_000) });
    const { socket, replies } = await sendPart(agent, ana, { size: whole.length, part: whole, request: route });
    await waitFor(`the reply of ${route}`, () => replies.length > 0 || reached.includes(route.slice(5)));
    // A user has one place at a time.
    const signal = AbortSignal.timeout(20_000);
    const { status } = await fetch(`${agent.url}/place`, { headers: ana.headers, signal }).catch((error) => ({
      status: `${error} after ${route} ${JSON.stringify(body)}`,
    }));
    expect(status).toBe(200);
    socket.destroy();
  }
}, 120_000);
