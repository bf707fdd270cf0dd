// Who waits for whom where requests cost much.
import { once } from 'node:events';
import { connect } from 'node:net';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const large = { title: 'Goats', metadata: { note: 'x'.repeat(70_000) } };

/** Begins a request whose body does not end. */
async function sendPart(agent: TestAgent, user: TestUser, { size, part = '{' }: { size?: number; part?: string }) {
  const { hostname, port } = new URL(agent.url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  await once(socket, 'connect');
  const length = size === undefined ? 'transfer-encoding: chunked' : `content-length: ${size}`;
  const lines = Object.entries(user.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /sessions HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n${length}\r\n`;
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
