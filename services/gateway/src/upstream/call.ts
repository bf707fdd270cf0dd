// One unary call on an HTTP/2 session.
import { toGrpcCode } from '@palaver/contract/internal';
import {
  checkFrameHead,
  decodeGrpcMessage,
  frameMessage,
  type MessageFault,
  toGrpcTimeout,
  unframeMessage,
} from './grpc-message.ts';
import { codeOfHttpStatus } from './grpc-status.ts';
import type { Received } from './http2/call.ts';
import { encodeFields, type Fields } from './http2/hpack.ts';
import type { Http2Session } from './http2/session.ts';

export interface GrpcRequest {
  /** `/package.Service/Method`. */
  path: string;
  body: Uint8Array;
  metadata: Record<string, string | string[]>;
  timeoutMs: number;
}

/** Takes the one answer of a call; may be called before the function that sends has returned. */
export type Done = (answer: GrpcAnswer) => void;
/** Cancels a call at the node; its answer is then a failure. Does nothing after the answer has arrived. */
export type Cancel = () => void;

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

/** Sends a call on a session and passes on its answer, once. Nothing is thrown: whatever happens is an answer. */
export function sendUnary(session: Http2Session, authority: Authority, request: GrpcRequest, done: Done): Cancel {
  let early: GrpcFailure | undefined;
  const cancel = session.request(toBlock(request, authority), frameMessage(request.body), {
    // The length is known from the first five bytes on; nothing more is taken in when it is out of bounds.
    refuses(start) {
      const fault = start.length < 5 ? undefined : checkFrameHead(start);
      if (fault) early = malformed(fault);
      return fault !== undefined;
    },
    onEnd: (received) => done(early ?? readAnswer(received)),
  });
  return () => {
    early = failure('cancelled');
    cancel();
  };
}

/** Where calls of a connection go to. */
export interface Authority {
  name: string;
  scheme: 'http' | 'https';
  /** Blocks of headers made before, by path and time limit. */
  blocks: Map<string, Buffer>;
}

/** Paths are those of the routes; time limits are mostly that of the gateway. */
const maxBlocks = 2_000;

function toBlock({ path, metadata, timeoutMs }: GrpcRequest, { name, scheme, blocks }: Authority): Buffer {
  const timeout = toGrpcTimeout(timeoutMs);
  const key = `${path}\n${timeout}`;
  let block = blocks.get(key);
  if (!block) {
    const fields = [':method', 'POST', ':scheme', scheme, ':path', path, ':authority', name];
    fields.push('content-type', 'application/grpc', 'te', 'trailers', 'grpc-accept-encoding', 'identity');
    block = encodeFields([...fields, 'grpc-timeout', timeout]);
    if (blocks.size >= maxBlocks) blocks.clear();
    blocks.set(key, block);
  }
  const own: string[] = [];
  for (const field in metadata) own.push(field, textOf(metadata[field]));
  return own.length === 0 ? block : Buffer.concat([block, encodeFields(own)]);
}

function readAnswer({ headers = [], trailers, body, resetCode }: Received): GrpcAnswer {
  const metadata: Metadata = {};
  collectMetadata(metadata, headers);
  if (trailers) collectMetadata(metadata, trailers);
  // A failure may come as one block of headers ("trailers only").
  const last = trailers ?? headers;
  const code = resetCode === undefined ? findField(last, 'grpc-status') : undefined;
  if (code === undefined) {
    const status = Number(findField(headers, ':status') ?? 0);
    if (status === 0 || resetCode !== undefined) return { ...failure('unreachable'), metadata };
    if (status === 200) return { ...malformed('truncated'), metadata };
    return { ok: false, code: codeOfHttpStatus(status), message: `the node answered with HTTP ${status}`, metadata };
  }
  if (code === '0') {
    const unframed = unframeMessage(body);
    return 'fault' in unframed
      ? { ...malformed(unframed.fault), metadata }
      : { ok: true, message: unframed.message, metadata };
  }
  const number = /^\d{1,2}$/.test(code) ? Number(code) : toGrpcCode('UNKNOWN');
  const message = decodeGrpcMessage(findField(last, 'grpc-message') ?? '');
  return { ok: false, code: number, message, details: findField(last, 'grpc-status-details-bin'), metadata };
}

const transportHeader =
  /^(?:grpc-(?!metadata-)|:|content-type$|content-length$|date$|server$|trailer$|te$|connection$)/;

/** Adds what the node sent beside the answer, gRPC's and HTTP's own fields aside. */
function collectMetadata(metadata: Metadata, fields: Fields): void {
  for (let index = 0; index < fields.length; index += 2) {
    const [name = '', value = ''] = [fields[index], fields[index + 1]];
    if (transportHeader.test(name)) continue;
    metadata[name] = name in metadata ? `${textOf(metadata[name])}, ${value}` : value;
  }
}

function findField(fields: Fields, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
  return undefined;
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
