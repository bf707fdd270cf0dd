// The CometBFT RPC of a node at the wire: answers recorded from a real one, and events on demand.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

interface Recorded {
  mnemonic: string;
  address: string;
  hash: string;
  answers: { method: string; params: Record<string, unknown>; result: unknown }[];
}

export const recorded: Recorded = JSON.parse(readFileSync(new URL('recorded-rpc.json', import.meta.url), 'utf8'));

/** As CometBFT reads it: texts are quoted, numbers are not. */
function readUri(url: string) {
  const { pathname, searchParams } = new URL(url, 'http://node');
  const params = Object.fromEntries([...searchParams].map(([name, value]) => [name, value.replace(/^"|"$/g, '')]));
  return { id: -1, method: pathname.slice(1), params };
}

/** With `authorization`, requests and sockets need that header. */
export async function startRpcNode({ authorization }: { authorization?: string } = {}) {
  const calls: { method: string; params: Record<string, unknown> }[] = [];
  const subscribed: { query: string; id: unknown; send(text: string): void }[] = [];
  /** Results in place of the recorded ones, by method. */
  const results = new Map<string, unknown>();
  /** Subscriptions are confirmed when `until` resolves. */
  const confirmation = { until: Promise.resolve(), awaited: 0 };
  const server = createServer(async (request, response) => {
    let body = '';
    if (authorization && request.headers.authorization !== authorization) return response.writeHead(401).end('no');
    for await (const chunk of request) body += chunk;
    const { id, method, params } = request.method === 'GET' ? readUri(request.url ?? '') : JSON.parse(body);
    calls.push({ method, params });
    const same = (a: unknown) => JSON.stringify(a) === JSON.stringify(params);
    const found =
      ((results.has(method) && { result: results.get(method) }) ||
        recorded.answers.find((answer) => answer.method === method && same(answer.params))) ??
      (method === 'block' && { result: { block: { header: { height: params.height ?? '500' } } } });
    const reply = found
      ? { result: found.result }
      : { error: { code: -32603, message: 'Internal error', data: 'none' } };
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
  });
  const sockets = new WebSocketServer({
    server,
    path: '/websocket',
    verifyClient: ({ req }: { req: IncomingMessage }) => !authorization || req.headers.authorization === authorization,
  });
  sockets.on('connection', (socket) => {
    socket.on('message', async (data) => {
      const { id, method, params } = JSON.parse(String(data));
      if (method === 'health') {
        calls.push({ method, params });
        return socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
      }
      if (method !== 'subscribe') return;
      if (params.query.includes('nonsense'))
        return socket.send(
          JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'x', data: 'bad query' } }),
        );
      confirmation.awaited += 1;
      await confirmation.until;
      confirmation.awaited -= 1;
      const entry = { query: params.query, id, send: (text: string) => socket.send(text) };
      subscribed.push(entry);
      socket.on('close', () => subscribed.splice(subscribed.indexOf(entry), 1));
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    results,
    subscribed,
    confirmation,
    emit(query: string, data: unknown) {
      for (const { id, send } of subscribed.filter((entry) => entry.query === query))
        send(JSON.stringify({ jsonrpc: '2.0', id, result: { query, data, events: {} } }));
    },
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      sockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
