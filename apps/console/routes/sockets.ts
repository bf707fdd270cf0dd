import { type Server as HttpServer, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Logger } from '@palaver/service-kit';
import { toServiceHeaders } from '../forwarding.ts';

const handshakeMs = 10_000;

/** Joins the page's WebSocket with the agent's. Gives a function that ends all of them. */
export function relaySockets(server: HttpServer, agentUrl: string, logger: Logger): () => void {
  const open = new Set<Duplex>();
  const target = new URL(agentUrl);

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    keep(socket);
    if (!request.url?.startsWith('/socket.io/')) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    const headers = { ...toServiceHeaders(request, target), connection: 'Upgrade', upgrade: 'websocket' };
    const upstream = (target.protocol === 'https:' ? requestHttps : requestHttp)({
      hostname: target.hostname,
      port: target.port,
      path: target.pathname.replace(/\/$/, '') + request.url,
      headers,
      timeout: handshakeMs,
    });
    socket.once('close', () => upstream.destroy());
    upstream.once('upgrade', (answer, agentSocket, agentHead) => {
      keep(agentSocket);
      agentSocket.setTimeout(0);
      socket.write(toHead(answer));
      socket.write(agentHead);
      agentSocket.write(head);
      agentSocket.pipe(socket).pipe(agentSocket);
      agentSocket.once('close', () => socket.destroy());
      socket.once('close', () => agentSocket.destroy());
    });
    upstream.once('response', (answer) => {
      socket.write(toHead(answer));
      answer.pipe(socket);
    });
    upstream.once('timeout', () => upstream.destroy(new Error('no answer to the handshake')));
    upstream.once('error', (error) => {
      logger.warn({ err: error }, 'the agent cannot be reached');
      socket.destroy();
    });
    upstream.end();
  });

  function keep(socket: Duplex): void {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
  }
  return () => {
    for (const socket of open) socket.destroy();
  };
}

function toHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
