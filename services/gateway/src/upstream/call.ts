// One unary call on an HTTP/2 session.
import { type ClientHttp2Session, constants, type IncomingHttpHeaders } from 'node:http2';
import { toGrpcCode } from '@palaver/contract';
import {
  checkFrameHead,
  decodeGrpcMessage,
  frameMessage,
  type MessageFault,
  toGrpcTimeout,
  unframeMessage,
} from './grpc-message.ts';
import { codeOfHttpStatus } from './grpc-status.ts';

export interface GrpcRequest {
  /** `/package.Service/Method`. */
  path: string;
  body: Uint8Array;
  metadata: Record<string, string | string[]>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface GrpcFailure {
  ok: false;
  code: number;
  message: string;
  /** `grpc-status-details-bin` as it came. */
  details?: string | undefined;
  /** Set when the gateway itself refused or missed the answer. */
  fault?: 'deadline' | 'cancelled' | 'unreachable' | 'behind' | 'too large' | 'malformed';
  metadata: Metadata;
}

export type GrpcAnswer = { ok: true; message: Buffer; metadata: Metadata } | GrpcFailure;
export type Metadata = Record<string, string | string[]>;

const faultMessages: Record<MessageFault, string> = {
  compressed: 'the node compressed its answer without being asked to',
  'too large': 'the answer of the node is larger than 16 MiB',
  truncated: 'the answer of the node ended early',
  several: 'the node answered a single call more than once',
  missing: 'the node answered with nothing',
};

/** Runs a call to its end. Never rejects: whatever happens is an answer. */
export function callUnary(session: ClientHttp2Session, authority: string, request: GrpcRequest): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    const { signal } = request;
    if (signal?.aborted) return resolve(failure('cancelled'));
    let stream: ReturnType<ClientHttp2Session['request']>;
    try {
      stream = session.request(toHeaders(request, authority));
    } catch {
      return resolve(failure('unreachable')); // the session went away under our hands
    }

    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    let body: Buffer[] = [];
    let size = 0;
    let early: GrpcFailure | undefined;
    let settled = false;
    const settle = (answer: GrpcAnswer) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(answer);
    };
    const giveUp = (answer: GrpcFailure) => {
      early = answer;
      body = [];
      stream.close(constants.NGHTTP2_CANCEL);
      settle(answer);
    };
    const onAbort = () => giveUp(failure('cancelled'));
    const timer = setTimeout(() => giveUp(failure('deadline')), request.timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => {
      if (early) return;
      body.push(chunk);
      const seen = size;
      size += chunk.length;
      // The length is known from the first five bytes on; nothing more is taken in when it is out of bounds.
      if (seen < 5 && size >= 5) {
        const fault = checkFrameHead(body.length === 1 ? chunk : Buffer.concat(body));
        if (fault) giveUp(malformed(fault));
      }
    });
    // Errors end in `close` as well, where the reason is looked at.
    stream.on('error', () => undefined);
    stream.on('close', () => {
      const [only] = body;
      const joined = body.length === 1 && only ? only : Buffer.concat(body);
      settle(early ?? readAnswer({ headers, trailers, body: joined, resetCode: stream.rstCode }));
    });
    stream.end(frameMessage(request.body));
  });
}

/** As a flat list, which Node takes as it is; an object it would check and copy twice. */
function toHeaders({ path, metadata, timeoutMs }: GrpcRequest, authority: string): string[] {
  const headers = [':method', 'POST', ':path', path, ':authority', authority];
  headers.push('content-type', 'application/grpc', 'te', 'trailers', 'grpc-accept-encoding', 'identity');
  headers.push('grpc-timeout', toGrpcTimeout(timeoutMs));
  for (const name in metadata) headers.push(name, textOf(metadata[name]));
  return headers;
}

interface Received {
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders | undefined;
  body: Buffer;
  resetCode: number | undefined;
}

function readAnswer({ headers, trailers, body, resetCode }: Received): GrpcAnswer {
  const status = Number(headers[':status'] ?? 0);
  // A failure may come as one block of headers ("trailers only").
  const last = trailers ?? headers;
  const metadata = collectMetadata(headers, trailers);
  const code = last['grpc-status'];
  if (code === undefined) {
    if (status === 0 || resetCode !== constants.NGHTTP2_NO_ERROR) return { ...failure('unreachable'), metadata };
    if (status === 200) return { ...malformed('truncated'), metadata };
    return { ok: false, code: codeOfHttpStatus(status), message: `the node answered with HTTP ${status}`, metadata };
  }
  if (code === '0') {
    const unframed = unframeMessage(body);
    return 'fault' in unframed
      ? { ...malformed(unframed.fault), metadata }
      : { ok: true, message: unframed.message, metadata };
  }
  const number = /^\d{1,2}$/.test(String(code)) ? Number(code) : toGrpcCode('UNKNOWN');
  const message = decodeGrpcMessage(textOf(last['grpc-message']));
  const details = last['grpc-status-details-bin'];
  return { ok: false, code: number, message, details: details === undefined ? undefined : textOf(details), metadata };
}

const transportHeader =
  /^(?:grpc-(?!metadata-)|:|content-type$|content-length$|date$|server$|trailer$|te$|connection$)/;

/** What the node sent beside the answer, gRPC's and HTTP's own fields aside. */
function collectMetadata(...blocks: (IncomingHttpHeaders | undefined)[]): Metadata {
  const metadata: Metadata = {};
  for (const block of blocks) {
    for (const name in block) {
      const value = block[name];
      if (value !== undefined && !transportHeader.test(name)) metadata[name] = value;
    }
  }
  return metadata;
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

function malformed(fault: MessageFault): GrpcFailure {
  const isLarge = fault === 'too large';
  return {
    ok: false,
    code: isLarge ? toGrpcCode('RESOURCE_EXHAUSTED') : toGrpcCode('INTERNAL'),
    message: faultMessages[fault],
    fault: isLarge ? 'too large' : 'malformed',
    metadata: {},
  };
}

export function failure(fault: 'deadline' | 'cancelled' | 'unreachable' | 'behind'): GrpcFailure {
  const shown = {
    deadline: { code: toGrpcCode('DEADLINE_EXCEEDED'), message: 'the node did not answer in time' },
    cancelled: { code: toGrpcCode('CANCELLED'), message: 'the request was cancelled' },
    unreachable: { code: toGrpcCode('UNAVAILABLE'), message: 'no node can be reached at the moment' },
    behind: { code: toGrpcCode('UNAVAILABLE'), message: 'no node has reached the height that the client has seen' },
  }[fault];
  return { ok: false, ...shown, fault, metadata: {} };
}
