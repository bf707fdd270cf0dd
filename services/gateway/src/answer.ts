import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { AppError } from '@palaver/contract';
import { type GatewayErrorBody, toGrpcStatus, toReasonPhrase, toRefusalGrpcCode } from '@palaver/contract/internal';
import { readAny } from './encode-response.ts';
import { toHeaders } from './metadata.ts';
import { hashOf } from './printer/pieces.ts';
import { readFields, WireReader } from './printer/wire-reader.ts';
import type { GrpcFailure, Metadata } from './upstream/call.ts';
import { readHeight } from './upstream/node-watch.ts';

/** A reply as it is sent and kept: everything that does not depend on who asks. */
export interface Answer {
  status: number;
  body: Buffer;
  headers: string[];
  grpcCode: number;
  madeAt: number;
  height: number | undefined;
  /** Whether it says something about the block, and so holds as long as that lasts. */
  keeps: boolean;
  /** Whether the node could not be asked, so that an older answer is better than this one. */
  isOutage: boolean;
}

const jsonType = 'application/json';

export function toJsonAnswer(json: string | Buffer, metadata: Metadata): Answer {
  const body = typeof json === 'string' ? Buffer.from(json) : json;
  return {
    status: 200,
    body,
    headers: ['content-type', jsonType, ...toHeaders(metadata)],
    grpcCode: 0,
    madeAt: Date.now(),
    height: readHeight(metadata),
    keeps: true,
    isOutage: false,
  };
}

export type WriteError = (body: GatewayErrorBody) => object;

export function toFailureAnswer(
  failure: GrpcFailure,
  details: GatewayErrorBody['details'],
  writeError: WriteError,
): Answer {
  const body = toFailureBody(failure, details);
  const isOutage = body.statusCode === 503 || body.statusCode === 504 || failure.fault === 'not gRPC';
  return {
    status: body.statusCode,
    body: Buffer.from(JSON.stringify(writeError(body))),
    headers: [
      'content-type',
      `${jsonType}; charset=utf-8`,
      ...(body.statusCode === 503 ? ['retry-after', '1'] : []),
      ...toHeaders(failure.metadata),
    ],
    grpcCode: body.code,
    madeAt: Date.now(),
    height: readHeight(failure.metadata),
    keeps: body.reason === 'NOT_FOUND',
    isOutage,
  };
}

const etags = new WeakMap<Answer, string>();

export function etagOf(answer: Answer): string {
  const known = etags.get(answer);
  if (known !== undefined) return known;
  const etag = answer.grpcCode === 0 ? `"${hashOf(answer.body)}"` : '';
  etags.set(answer, etag);
  return etag;
}

/** The body and what its compressed forms may add; the cache itself estimates the rest. */
export function weighAnswer({ body }: Answer): number {
  return Math.ceil(body.length * 1.5);
}

const maxMessageLength = 1_000;

export function toRefusalBody({ statusCode, message, code }: AppError): GatewayErrorBody {
  const error = toReasonPhrase(statusCode);
  return { statusCode, error, message, code: toRefusalGrpcCode(statusCode), reason: code, details: [] };
}

function toFailureBody(failure: GrpcFailure, details: GatewayErrorBody['details']): GatewayErrorBody {
  if (failure.fault === 'too large') return toRefusalBody(new AppError('RESPONSE_TOO_LARGE', failure.message));
  const { code, name, httpStatus } = toGrpcStatus(failure.code);
  // Below the first line of an internal error nodes put stack traces, which are not for clients.
  const message = httpStatus === 500 ? failure.message.split(/[\r\n]/, 1)[0] : failure.message;
  return {
    statusCode: httpStatus,
    error: toReasonPhrase(httpStatus),
    message: message?.slice(0, maxMessageLength) || name,
    code,
    reason: name,
    details,
  };
}

const maxDetailsLength = 64 * 1024;

/** The `Any`s of `grpc-status-details-bin`, a `google.rpc.Status` in base64. */
export function parseDetails(text: string | undefined): Buffer[] {
  if (text === undefined || text.length > maxDetailsLength) return [];
  try {
    return readFields(Buffer.from(text, 'base64')).flatMap(({ no, bytes }) => (no === 3 ? bytes : []));
  } catch {
    return []; // the status is kept without its details, which cannot be read
  }
}

/** A detail that could not be printed keeps its bytes; undefined if it is no `Any`. */
export function toRawDetail(any: Buffer): { '@type': string; value: string } | undefined {
  try {
    const { typeUrl, start, end } = readAny(new WireReader(any));
    return { '@type': typeUrl, value: any.toString('base64', start, end) };
  } catch {
    return undefined;
  }
}

type ContentEncoding = 'br' | 'gzip';

/** Smaller bodies grow, or fit into one packet anyway. */
const minBytes = 1024;

const compressors: Record<ContentEncoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body) => promisify(gzip)(body, { level: 5 }),
};

export function chooseEncoding(accepted: string | undefined, body: Buffer): ContentEncoding | undefined {
  if (accepted === undefined || body.length <= minBytes) return undefined;
  const wanted = new Set<string>();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...params] = item.split(';').map((part) => part.trim());
    if (!params.some((param) => /^q=0(?:\.0*)?$/.test(param))) wanted.add(name);
  }
  if (wanted.has('br')) return 'br';
  return wanted.has('gzip') ? 'gzip' : undefined;
}

const made = new WeakMap<Buffer, Partial<Record<ContentEncoding, Promise<Buffer>>>>();

export function compress(body: Buffer, encoding: ContentEncoding): Promise<Buffer> {
  const forms = made.get(body) ?? {};
  made.set(body, forms);
  forms[encoding] ??= compressors[encoding](body);
  return forms[encoding];
}

/** The tag of a compressed form: bytes that differ have tags that differ. */
export function toEncodedTag(etag: string, encoding: ContentEncoding): string {
  return etag.replace(/"$/, `-${encoding}"`);
}
