// A node that speaks HTTP/2 but not always gRPC: every answer is scripted, frame by frame.
import {
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

export type Script = (stream: ServerHttp2Stream, path: string) => void;

export interface ScriptedNode {
  address: string;
  port: number;
  sessions: Set<ServerHttp2Session>;
  calls: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startScriptedNode(
  script: Script,
  { port = 0, settings = {}, tls }: { port?: number; settings?: Settings; tls?: SecureServerOptions } = {},
): Promise<ScriptedNode> {
  const maxSendHeaderBlockLength = 1024 * 1024;
  const options = { settings, maxSendHeaderBlockLength };
  const server = tls ? createSecureServer({ ...options, ...tls }) : createServer(options);
  const sessions = new Set<ServerHttp2Session>();
  const calls: string[] = [];
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    stream.resume();
    calls.push(String(headers[':path']));
    script(stream, String(headers[':path']));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  const address = `127.0.0.1:${bound}`;
  const close = async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { address, port: bound, sessions, calls, [Symbol.asyncDispose]: close };
}

/** A gRPC answer: the body as given, then the trailers. */
export function respond(
  stream: ServerHttp2Stream,
  body: Uint8Array,
  trailers: Record<string, string> = { 'grpc-status': '0' },
) {
  if (stream.closed || stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(body);
}

export function frame(message: Uint8Array, flag = 0, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}
