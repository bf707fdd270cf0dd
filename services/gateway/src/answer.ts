import type { GatewayErrorBody } from '@palaver/contract/internal';
import { toFailureBody } from './gateway-error.ts';
import { toHeaders } from './metadata.ts';
import { hashOf } from './printer/pieces.ts';
import type { GrpcFailure, Metadata } from './upstream/call.ts';
import { readHeight } from './upstream/node-watch.ts';

/** A reply as it is sent and kept: everything that does not depend on who asks. */
export interface Answer {
  status: number;
  body: Buffer;
  /** Names in lower case and values alternating. */
  headers: string[];
  grpcCode: number;
  /** When it came from the node. */
  madeAt: number;
  /** The height it is about, if the node sent it. */
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

/** The answer's tag; empty for errors. */
export function etagOf(answer: Answer): string {
  const known = etags.get(answer);
  if (known !== undefined) return known;
  const etag = answer.grpcCode === 0 ? `"${hashOf(answer.body)}"` : '';
  etags.set(answer, etag);
  return etag;
}

/** The body and what its compressed forms may add. */
const compressedShare = 1.5;

/** What the answer occupies; headers and the object itself are the cache's own estimate. */
export function weighAnswer({ body }: Answer): number {
  return Math.ceil(body.length * compressedShare);
}
