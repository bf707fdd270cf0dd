import { Agent, request } from 'node:http';

export interface User {
  token: string;
  sessionId: string;
}

export interface Turn {
  tokens: number;
  firstByteMs: number;
  /** Milliseconds between one token and the next. */
  gaps: number[];
  done: boolean;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'x-auth-type': 'ucan', 'content-type': 'application/json' };
}

export function streamTurn(url: string, user: User, message: string): Promise<Turn> {
  const turn: Turn = { tokens: 0, firstByteMs: 0, gaps: [], done: false };
  const startedAt = performance.now();
  let last = 0;
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: headersOf(user.token) };
    const sent = request(`${url}/messages/${user.sessionId}`, options, (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const now = performance.now();
        if (turn.firstByteMs === 0) turn.firstByteMs = now - startedAt;
        const frames = (rest + chunk).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          if (frame.startsWith('event: done')) turn.done = true;
          if (!frame.startsWith('event: message')) continue;
          turn.tokens += 1;
          if (last > 0) turn.gaps.push(now - last);
          last = now;
        }
      });
      response.once('end', () =>
        response.statusCode === 200 ? resolve(turn) : reject(new Error(`${response.statusCode}`)),
      );
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end(JSON.stringify({ message, stream: true }));
  });
}

/** A WebSocket that has finished Socket.IO's handshake and answers its pings. */
export function openIdleSocket(url: string, { token, sessionId }: User): Promise<WebSocket> {
  const query = new URLSearchParams({ EIO: '4', transport: 'websocket', sessionId });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?${query}`);
  return new Promise((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('the socket failed')));
    socket.addEventListener('close', () => reject(new Error('the socket was closed')));
    socket.addEventListener('message', ({ data }) => {
      const packet = String(data);
      if (packet.startsWith('0')) socket.send(`40${JSON.stringify({ invocation: token })}`);
      else if (packet === '2') socket.send('3');
      else if (packet.startsWith('42["connected"')) resolve(socket);
      else if (packet.startsWith('44')) reject(new Error(packet));
    });
  });
}
