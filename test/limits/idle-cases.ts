// What stays open and says nothing more.
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession, eachOf, range, type World } from './key.ts';

/** Each reads the answer that is being written, and stays. */
export async function leaveReaders({ keys, share }: World): Promise<void> {
  const unread: IncomingMessage[] = [];
  await eachOf(keys, 50, async (key) => {
    const body = { message: '/long 4000', stream: true };
    const running = await key.open('POST', `/messages/${await createSession(key)}`, { body }).catch(() => undefined);
    if (!running) return;
    unread.push(running);
    await eachOf(range(share(5_000, 60)), share(50, 5), async () => {
      const reply = await key.open('GET', `/runs/${running.headers['x-run-id']}`).catch(() => undefined);
      if (reply) unread.push(reply);
    });
  });
  await sleep(3_000);
  for (const reply of unread) reply.destroy();
}

/** All from the address of this machine. */
export async function leaveSockets({ url, keys, share }: World): Promise<void> {
  const sockets: WebSocket[] = [];
  const perSession = 50;
  await eachOf(keys, 20, async (key) => {
    for (let left = share(3_000, 60); left > 0; left -= perSession) {
      const query = `EIO=4&transport=websocket&sessionId=${await createSession(key)}`;
      await eachOf(range(Math.min(left, perSession)), share(50, 5), async () => {
        const socket = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?${query}`);
        sockets.push(socket);
        await new Promise<void>((resolve) => {
          socket.onclose = () => resolve();
          socket.onopen = () => socket.send(`40${JSON.stringify({ invocation: key.invocation })}`);
          socket.onmessage = ({ data }) => {
            if (data === '2') socket.send('3');
            if (/^4[24]/.test(data)) resolve();
          };
        });
      });
    }
  });
  await sleep(3_000);
  for (const socket of sockets) socket.close();
}

const head = (first: string, ...lines: string[]) => [`${first} HTTP/1.1`, 'host: agent', ...lines].join('\r\n');
const upgrade = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
/** Nothing, a head or a body without its end, a request that is refused, and a socket that names nobody. */
const openings = [
  '',
  head('GET /sessions', 'x-auth-type: ucan', 'x: '),
  `${head('POST /v1/chat/completions', 'content-type: application/json', 'content-length: 900000')}\r\n\r\n{"`,
  `${head('GET /sessions')}\r\n\r\n`,
  `${head('GET /socket.io/?EIO=4&transport=websocket', ...upgrade, `sec-websocket-key: ${'A'.repeat(22)}==`)}\r\n\r\n`,
];

/** Of nobody: each sends its beginning and waits until the agent ends it. */
export async function leaveConnections({ url, keys, share }: World): Promise<void> {
  const { hostname: host, port } = new URL(url);
  const open: Socket[] = [];
  await eachOf(keys, 20, async ({ address: localAddress }) => {
    await eachOf(range(share(5_000, 50)), 50, async (at) => {
      const socket = connect({ host, port: Number(port), localAddress });
      open.push(socket);
      socket.on('error', () => {}).resume();
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        socket.write(openings[at % openings.length] ?? '', () => resolve());
      });
    });
  });
  await sleep(5_000);
  for (const socket of open) socket.destroy();
}
