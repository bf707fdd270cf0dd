import { once } from 'node:events';
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { toGrpcCode } from '@palaver/contract/internal';
import { encodeGrpcMessage, type GrpcFrameFault, GrpcFrameReader, toGrpcFrame } from '@palaver/service-kit/internal';
import { type Refusal, refuse } from './chain.ts';

/** `metadata` goes out before the answer, as headers. */
export type Reply = ({ ok: true; message: Uint8Array } | Refusal) & { metadata?: Record<string, string> };

export type Answerer = (message: Buffer, headers: IncomingHttpHeaders) => Reply;

export interface Method {
  streaming: boolean;
  open(): Answerer;
}

export function parseMessage<T extends Message>(
  desc: DescMessage,
  bytes: Uint8Array,
): { ok: true; message: T } | Refusal {
  try {
    return { ok: true, message: fromBinary(desc, bytes) as T };
  } catch (error) {
    return refuse('INTERNAL', `error unmarshalling request: ${(error as Error).message}`);
  }
}

interface CallLimits {
  maxRequestBytes: number;
  maxReplyBytes: number;
  /** A call on which nothing moves for so long is cancelled. */
  idleMs: number;
}

interface CallContext extends GrpcServerOptions {
  /** What ends each streaming call when the server stops. */
  stops: Set<() => void>;
}

interface Call {
  stream: ServerHttp2Stream;
  limits: CallLimits;
  answer(message: Buffer): Reply;
}

const grpcContentType = /^application\/grpc(\+proto)?\s*(;|$)/;
const replyHeaders = { ':status': 200, 'content-type': 'application/grpc' };

/** Serves one call: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
function serveCall(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, context: CallContext): void {
  const { methods, limits, onError, stops } = context;
  stream.on('error', () => {}); // the peer has left; 'close' follows
  stream.setTimeout(limits.idleMs, () => stream.close(constants.NGHTTP2_CANCEL));
  const httpStatus = findHttpFault(headers);
  const method = findMethod(headers, methods);
  if (httpStatus !== undefined) {
    sendHeadersOnly(stream, { ':status': httpStatus });
  } else if ('code' in method) {
    sendRefusal(stream, method);
  } else {
    const answerer = method.open();
    const answer = (message: Buffer): Reply => {
      try {
        return checkSize(answerer(message, headers), limits);
      } catch (error) {
        onError(error, headers[':path'] ?? '');
        return refuse('INTERNAL', 'internal error');
      }
    };
    if (method.streaming) serveStreaming({ stream, limits, answer }, stops);
    else serveUnary({ stream, limits, answer });
  }
}

function findHttpFault(headers: IncomingHttpHeaders): number | undefined {
  if (headers[':method'] !== 'POST') return 405;
  return grpcContentType.test(headers['content-type'] ?? '') ? undefined : 415;
}

function findMethod(headers: IncomingHttpHeaders, methods: ReadonlyMap<string, Method>): Method | Refusal {
  const encoding = headers['grpc-encoding'] ?? 'identity';
  if (encoding !== 'identity') return refuse('UNIMPLEMENTED', `grpc-encoding ${encoding} is not supported`);
  return methods.get(headers[':path'] ?? '') ?? refuse('UNIMPLEMENTED', `unknown method ${headers[':path']}`);
}

function serveUnary({ stream, limits, answer }: Call): void {
  const reader = new GrpcFrameReader(limits.maxRequestBytes);
  const messages: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    if (stream.headersSent) return;
    const fault = reader.push(chunk, messages);
    if (fault) sendRefusal(stream, refuseFrame(fault, limits));
  });
  stream.on('end', () => {
    if (stream.headersSent || isGone(stream)) return;
    const [message] = messages;
    const reply: Reply = message && messages.length === 1 && !reader.isInside() ? answer(message) : notOne;
    startReply(stream, reply.metadata, () => toTrailers(reply.ok ? undefined : reply));
    stream.end(reply.ok ? toGrpcFrame(reply.message) : undefined);
  });
}

const notOne = refuse('INTERNAL', 'a unary call takes one message');
const notWhole = refuse('INTERNAL', 'the last message is not whole');

function serveStreaming({ stream, limits, answer }: Call, stops: Set<() => void>): void {
  const reader = new GrpcFrameReader(limits.maxRequestBytes);
  let outcome: Refusal | undefined;
  startReply(stream, {}, () => toTrailers(outcome));
  const end = (refusal?: Refusal) => {
    outcome ??= refusal;
    stream.end();
  };
  const stop = () => end(refuse('UNAVAILABLE', 'the server is stopping'));
  stops.add(stop);
  stream.on('close', () => stops.delete(stop));
  stream.on('data', (chunk: Buffer) => {
    if (stream.writableEnded) return;
    const messages: Buffer[] = [];
    const fault = reader.push(chunk, messages);
    if (fault) return end(refuseFrame(fault, limits));
    for (const message of messages) {
      const reply = answer(message);
      if (!reply.ok) return end(reply);
      stream.write(toGrpcFrame(reply.message));
    }
    // A client that asks without reading the answers has to wait with the next question.
    if (stream.writableNeedDrain) stream.pause().once('drain', () => stream.resume());
  });
  stream.on('end', () => end(reader.isInside() ? notWhole : undefined));
}

function refuseFrame(fault: GrpcFrameFault, { maxRequestBytes }: CallLimits): Refusal {
  if (fault.kind === 'compressed') return refuse('INTERNAL', 'compressed message without grpc-encoding');
  return refuse('RESOURCE_EXHAUSTED', `received message larger than max (${fault.length} vs. ${maxRequestBytes})`);
}

function checkSize(reply: Reply, { maxReplyBytes }: CallLimits): Reply {
  if (!reply.ok || reply.message.length <= maxReplyBytes) return reply;
  const { message, metadata } = reply;
  const text = `trying to send message larger than max (${message.length} vs. ${maxReplyBytes})`;
  return { ...refuse('RESOURCE_EXHAUSTED', text), metadata };
}

function startReply(
  stream: ServerHttp2Stream,
  metadata: Record<string, string> | undefined,
  getTrailers: () => Record<string, string | number>,
): void {
  if (isGone(stream)) return;
  stream.respond({ ...replyHeaders, ...metadata }, { waitForTrailers: true });
  stream.once('wantTrailers', () => {
    if (isGone(stream)) return;
    stream.sendTrailers(getTrailers());
    stopReading(stream);
  });
}

function sendRefusal(stream: ServerHttp2Stream, refusal: Refusal): void {
  sendHeadersOnly(stream, { ...replyHeaders, 'grpc-accept-encoding': 'identity', ...toTrailers(refusal) });
}

/** A refusal before any answer is one block of headers. */
function sendHeadersOnly(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (isGone(stream)) return;
  stream.respond(headers, { endStream: true });
  stopReading(stream);
}

/** Whether the client has reset the call meanwhile; answering it would throw. */
function isGone(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed;
}

/** Asks a client that keeps sending to stop, once the answer is complete; asked at once, it would not get the answer. */
function stopReading(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
}

function toTrailers(refusal: Refusal | undefined): Record<string, string | number> {
  if (!refusal) return { 'grpc-status': 0 };
  return { 'grpc-status': toGrpcCode(refusal.code), 'grpc-message': encodeGrpcMessage(refusal.message) };
}

interface GrpcServerOptions {
  /** By path: `/package.Service/Method`. */
  methods: ReadonlyMap<string, Method>;
  limits: CallLimits;
  /** Receives what a method threw; the client gets only an internal error. */
  onError(error: unknown, path: string): void;
}

const maxConcurrentStreams = 1_000;
const maxHeaderListSize = 16 * 1024;
const keepAliveMs = 60_000;

export function createGrpcServer(options: GrpcServerOptions) {
  const stops = new Set<() => void>();
  const server = createServer({ settings: { maxConcurrentStreams, maxHeaderListSize } });
  const sessions = new Set<ServerHttp2Session>();
  server.on('stream', (stream, headers) => serveCall(stream, headers, { ...options, stops }));
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => {}); // a broken connection concerns its client alone; 'close' follows
  });
  // The operating system notices a peer that vanished.
  server.on('connection', (socket) => socket.setKeepAlive(true, keepAliveMs));

  return {
    async listen({ host, port }: { host: string; port: number }): Promise<number> {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    },
    /** Takes no new calls, lets those in flight finish within `graceMs`, then cuts the rest. */
    async close(graceMs: number): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      for (const stop of stops) stop();
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}
