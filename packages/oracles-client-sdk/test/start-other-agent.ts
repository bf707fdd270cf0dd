import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type Socket } from 'socket.io';

/** A frame of a stream: event name, data, and its number where it has one. */
export type Frame = [event: string, data: unknown, id?: number];

export interface Habits {
  /** The answer to every message, and to every attempt to resume it. */
  frames?: (requestId: string) => Frame[];
  /** The error body of every send. */
  refusal?: { status: number; body: unknown };
  history?: unknown;
  /** Only the routes every agent has: no pages of the history, no live run, no resuming. */
  isBare?: boolean;
  /** No WebSocket comes through to it. May change while it runs. */
  isPolling?: boolean;
  /** Whether the connection of this number is ended as soon as it is open. */
  isEnded?: (connection: number) => boolean;
}

/** An agent that is not ours: the same interface with habits of its own, scripted at the wire. */
export async function startOtherAgent(habits: Habits) {
  const results: Record<string, unknown>[] = [];
  const delegations: unknown[] = [];
  const sent: Record<string, unknown>[] = [];
  const sockets: Socket[] = [];
  const handshakes: unknown[] = [];
  /** Also those that are not signed in yet. */
  const connections: Socket['conn'][] = [];

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const route = `${request.method} ${request.url}`;
    if (route === 'POST /delegation') {
      delegations.push(JSON.parse(text));
      return reply(200, { ok: true });
    }
    if (route === 'POST /messages/s') {
      const { refusal } = habits;
      sent.push(JSON.parse(text));
      return refusal ? reply(refusal.status, refusal.body) : stream(request, response);
    }
    if (route === 'GET /messages/s') return reply(200, habits.history ?? { messages: [] });
    if (habits.isBare) return reply(404, { statusCode: 404, message: 'No such route.', code: 'NOT_FOUND' });
    if (route.startsWith('GET /sessions/s/messages')) return reply(200, habits.history ?? { messages: [] });
    return reply(200, { run: null });
  });

  function stream(request: IncomingMessage, response: ServerResponse): void {
    const frames = habits.frames?.(String(request.headers['x-request-id'])) ?? [];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [event, data, id] of frames) {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      response.write(`event: ${event}\r\n${id === undefined ? '' : `id: ${id}\r\n`}data: ${text}\r\n\r\n`);
    }
    response.end();
  }

  const io = new Server(server, {
    allowRequest: ({ url = '' }, decide) => decide(null, !(habits.isPolling && url.includes('transport=websocket'))),
  });
  io.engine.on('connection', (connection: Socket['conn']) => connections.push(connection));
  io.on('connection', (socket) => {
    handshakes.push(socket.handshake.auth);
    if (habits.isEnded?.(handshakes.length)) return socket.disconnect(true);
    sockets.push(socket);
    for (const event of ['tool_result', 'action_call_result'])
      socket.on(event, (result: object) => results.push({ event, ...result }));
    return socket.emit('connected', {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    results,
    delegations,
    sent,
    handshakes,
    emit: (event: string, body: unknown) => sockets.at(-1)?.emit(event, body),
    /** Writes a Socket.IO packet unchanged. */
    write: (packet: string) => sockets.at(-1)?.conn.write(packet),
    breakOff: () => connections.at(-1)?.close(),
    transports: () => sockets.map((socket) => socket.conn.transport.name),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await io.close();
    },
  };
}
