import { constants } from 'node:http2';
import { type GrpcCode, heightHeader, toGrpcCode } from '@palaver/contract/internal';
import { decodeGrpcMessage, GrpcFrameReader, toGrpcFrame } from '@palaver/service-kit/internal';
import type { Fields, Received, Session } from './session.ts';

const maxMessageBytes = 16 * 1024 * 1024;

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
  fault?: (typeof failures)[keyof typeof failures][1] | 'reset' | 'not gRPC';
  metadata: Metadata;
}

export type GrpcAnswer = { ok: true; message: Buffer; metadata: Metadata } | GrpcFailure;
export type Metadata = Record<string, string | string[]>;

const failures = {
  deadline: ['DEADLINE_EXCEEDED', 'deadline', 'the node did not answer in time'],
  cancelled: ['CANCELLED', 'cancelled', 'the request was cancelled'],
  unreachable: ['UNAVAILABLE', 'unreachable', 'no node can be reached at the moment'],
  breach: ['INTERNAL', 'breach', 'the node does not answer this by the rules of HTTP/2'],
  behind: ['UNAVAILABLE', 'behind', 'no node has reached the height that the client has seen'],
  headers: [
    'RESOURCE_EXHAUSTED',
    'too large',
    'the node reset the call, or its answer has more than 64 KiB of headers (HTTP/2 code 11)',
  ],
  'too large': ['RESOURCE_EXHAUSTED', 'too large', 'the answer of the node is larger than 16 MiB'],
  compressed: ['INTERNAL', 'malformed', 'the node compressed its answer without being asked to'],
  truncated: ['INTERNAL', 'malformed', 'the answer of the node ended early'],
  several: ['INTERNAL', 'malformed', 'the node answered a single call more than once'],
  missing: ['INTERNAL', 'malformed', 'the node answered with nothing'],
} as const;

export interface Authority {
  name: string;
  scheme: 'http' | 'https';
}

/** Sends a call on a session and passes on its answer, once. Nothing is thrown: whatever happens is an answer. */
export function sendUnary(session: Session, authority: Authority, request: GrpcRequest, done: Done): Cancel {
  const reader = new GrpcFrameReader(maxMessageBytes);
  const messages: Buffer[] = [];
  let early: GrpcFailure | undefined;
  try {
    const cancel = session.request(toFields(request, authority), toGrpcFrame(request.body), {
      accept(headers) {
        early = findOtherType(headers);
        return early === undefined;
      },
      // Nothing more is taken in once the answer is known to be wrong.
      take(chunk) {
        const broken = reader.push(chunk, messages)?.kind;
        const isMore = messages.length > 1 || (messages.length === 1 && reader.isInside());
        const fault = broken ?? (isMore ? 'several' : undefined);
        if (fault) early = failure(fault);
        return fault === undefined;
      },
      onEnd(received) {
        done(early ?? readAnswer(received, messages, reader.isInside()));
      },
    });
    return () => {
      early ??= failure('cancelled');
      cancel();
    };
  } catch {
    // The fields of a request are checked before; those that an extension adds are not.
    done({ ok: false, code: toGrpcCode('INTERNAL'), message: 'the metadata cannot be sent', metadata: {} });
    return () => undefined;
  }
}

/** The failure if the headers alone show that no gRPC server answers, such as a proxy that cannot reach its node. */
function findOtherType(headers: Fields): GrpcFailure | undefined {
  const type = findField(headers, 'content-type');
  if (type !== undefined) return type.startsWith('application/grpc') ? undefined : notGrpc(headers);
  const isGrpc = findField(headers, ':status') === '200' || findField(headers, 'grpc-status') !== undefined;
  return isGrpc ? undefined : notGrpc(headers);
}

function notGrpc(headers: Fields): GrpcFailure {
  const status = Number(findField(headers, ':status'));
  const shown =
    status === 200 ? `${findField(headers, 'content-type')?.slice(0, 100)} instead of gRPC` : `HTTP ${status}`;
  const message = `the node answered with ${shown}`;
  return { ok: false, code: codeOfHttpStatus(status), message, fault: 'not gRPC', metadata: {} };
}

function toFields({ path, metadata, timeoutMs }: GrpcRequest, { name, scheme }: Authority): Fields {
  const fields = [':method', 'POST', ':scheme', scheme, ':path', path, ':authority', name];
  fields.push('content-type', 'application/grpc', 'te', 'trailers', 'grpc-accept-encoding', 'identity');
  fields.push('grpc-timeout', toGrpcTimeout(timeoutMs));
  for (const field in metadata) fields.push(field, textOf(metadata[field]));
  return fields;
}

function readAnswer({ headers = [], trailers, lost }: Received, messages: Buffer[], isInside: boolean): GrpcAnswer {
  const metadata: Metadata = {};
  collectMetadata(metadata, headers);
  if (trailers) collectMetadata(metadata, trailers);
  if (lost !== undefined) return { ...readLoss(lost), metadata };
  const last = trailers ?? headers;
  const status = findField(last, 'grpc-status');
  if (status === undefined) {
    if (headers.length === 0) return { ...failure('unreachable'), metadata };
    const isOk = findField(headers, ':status') === '200';
    return findOtherType(headers) ?? (isOk ? { ...failure('truncated'), metadata } : notGrpc(headers));
  }
  const given = /^\d{1,2}$/.test(status) ? Number(status) : toGrpcCode('UNKNOWN');
  if (given === 0) {
    const [message] = messages;
    return message ? { ok: true, message, metadata } : { ...failure(isInside ? 'truncated' : 'missing'), metadata };
  }
  const message = decodeGrpcMessage(findField(last, 'grpc-message') ?? '');
  const code = notReadyCodes.includes(given) && notReady.test(message) ? toGrpcCode('UNAVAILABLE') : given;
  return { ok: false, code, message, details: findField(last, 'grpc-status-details-bin'), metadata };
}

function readLoss(lost: NonNullable<Received['lost']>): GrpcFailure {
  if (lost === 'connection' || isRefused(lost)) return failure('unreachable');
  if (lost === 'breach') return failure('breach');
  // Node's client ends a call so whose headers are too large.
  if (lost === constants.NGHTTP2_ENHANCE_YOUR_CALM) return failure('headers');
  const message = `the node reset the call (HTTP/2 code ${lost})`;
  const code = toGrpcCode(lost === constants.NGHTTP2_INADEQUATE_SECURITY ? 'PERMISSION_DENIED' : 'INTERNAL');
  return { ok: false, code, message, fault: 'reset', metadata: {} };
}

/** What nodes say while they have no block to answer from. It is at the beginning: later words may be a client's. */
const notReady =
  /^(?:rpc error: code = \w+ desc = )*(?:context did not contain latest block height|[\w.-]+ is not ready; please wait for first block)/;
const notReadyCodes: number[] = [toGrpcCode('UNKNOWN'), toGrpcCode('INTERNAL')];

const transportHeader =
  /^(?:grpc-(?!metadata-)|:|content-type$|content-length$|date$|server$|trailer$|te$|connection$)/;

function collectMetadata(metadata: Metadata, fields: Fields): void {
  for (let index = 0; index < fields.length; index += 2) {
    const [name = '', value = ''] = [fields[index], fields[index + 1]];
    if (transportHeader.test(name)) continue;
    // A height may come in the headers and again in the trailers.
    const isMore = Object.hasOwn(metadata, name) && name !== heightHeader;
    metadata[name] = isMore ? `${textOf(metadata[name])}, ${value}` : value;
  }
}

function findField(fields: Fields, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
  return undefined;
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

export function failure(kind: keyof typeof failures): GrpcFailure {
  const [code, fault, message] = failures[kind];
  return { ok: false, code: toGrpcCode(code), message, fault, metadata: {} };
}

/** The gRPC code for a reply that is HTTP but not gRPC, by the table of the gRPC protocol (proxies answer so). */
function codeOfHttpStatus(status: number): GrpcCode {
  if (status === 400) return toGrpcCode('INTERNAL');
  if (status === 401) return toGrpcCode('UNAUTHENTICATED');
  if (status === 403) return toGrpcCode('PERMISSION_DENIED');
  if (status === 404) return toGrpcCode('UNIMPLEMENTED');
  if (status === 429 || (status >= 502 && status <= 504)) return toGrpcCode('UNAVAILABLE');
  return toGrpcCode('UNKNOWN');
}

/** Whether the node did nothing for the call, so that another can be asked: refused, or cut off by something on the way. */
function isRefused(lost: unknown): boolean {
  return lost === constants.NGHTTP2_REFUSED_STREAM || lost === constants.NGHTTP2_CANCEL;
}

/** `grpc-timeout`: at most eight digits, so long waits go in seconds. */
function toGrpcTimeout(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 100_000_000 ? `${whole}m` : `${Math.ceil(whole / 1000)}S`;
}

const timeoutUnits: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };

/** Milliseconds of a client's `Grpc-Timeout`; undefined if it is not valid. */
export function parseGrpcTimeout(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  return digits === undefined || unit === undefined ? undefined : Number(digits) * (timeoutUnits[unit] ?? 1);
}

export interface QueryRequest extends GrpcRequest {
  height?: number | undefined;
  /** The lowest height that the answer may be about. */
  minHeight?: number | undefined;
  /** Not repeated on another node: it may have taken effect. */
  once?: boolean | undefined;
}

/** Sends a call. Callbacks and not promises, because a call passes several of these and each promise costs a microtask. */
export type Send = (request: QueryRequest, done: Done) => Cancel;
/** Wraps every call: it may look at, change, refuse or repeat the call and its answer. */
export type Interceptor = (send: Send) => Send;

export function toCall(send: Send): (request: QueryRequest, signal?: AbortSignal) => Promise<GrpcAnswer> {
  return (request, signal) =>
    new Promise((resolve) => {
      const cancel = send(request, (answer) => {
        signal?.removeEventListener('abort', cancelNow);
        resolve(answer);
      });
      function cancelNow() {
        cancel();
      }
      if (signal?.aborted) cancel();
      else signal?.addEventListener('abort', cancelNow, { once: true });
    });
}

export const limitTime: Interceptor = (send) => (request, done) => {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    cancel();
  }, request.timeoutMs);
  const cancel = send(request, (answer) => {
    clearTimeout(timer);
    done(isLate && !answer.ok && answer.fault === 'cancelled' ? failure('deadline') : answer);
  });
  return cancel;
};
