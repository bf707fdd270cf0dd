// A node that speaks HTTP/2 but not always gRPC: every answer is scripted, frame by frame.
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

export type Script = (stream: ServerHttp2Stream, path: string) => void;

export interface ScriptedNode {
  address: string;
  sessions: Set<ServerHttp2Session>;
  calls: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startScriptedNode(
  script: Script,
  { port = 0, settings = {} }: { port?: number; settings?: Settings } = {},
): Promise<ScriptedNode> {
  const server: Http2Server = createServer({ settings });
  const sessions = new Set<ServerHttp2Session>();
  const calls: string[] = [];
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    stream.resume();
    calls.push(String(headers[':path']));
    script(stream, String(headers[':path']));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { address, sessions, calls, [Symbol.asyncDispose]: close };
}

/** A gRPC answer: the body as given, then the trailers. */
export function respond(
  stream: ServerHttp2Stream,
  body: Uint8Array,
  trailers: Record<string, string> = { 'grpc-status': '0' },
) {
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
