import { AppError } from '@palaver/contract';
import { type GatewayErrorBody, toGrpcStatus, toReasonPhrase, toRefusalGrpcCode } from '@palaver/contract/internal';
import { readFields } from './descriptors/read-fields.ts';
import { readAny } from './encode-response.ts';
import { WireReader } from './printer/wire-reader.ts';
import type { GrpcFailure } from './upstream/call.ts';

const maxMessageLength = 1_000;

/** The body of a refusal by the gateway itself. */
export function toRefusalBody({ statusCode, message, code }: AppError): GatewayErrorBody {
  const error = toReasonPhrase(statusCode);
  return { statusCode, error, message, code: toRefusalGrpcCode(statusCode), reason: code, details: [] };
}

/** The body of a failure of the node, or of reaching it. */
export function toFailureBody(failure: GrpcFailure, details: GatewayErrorBody['details']): GatewayErrorBody {
  if (failure.fault === 'too large') return toRefusalBody(new AppError('RESPONSE_TOO_LARGE', failure.message));
  const { code, name, httpStatus } = toGrpcStatus(failure.code);
  const message = httpStatus === 500 ? firstLine(failure.message) : failure.message;
  return {
    statusCode: httpStatus,
    error: toReasonPhrase(httpStatus),
    message: message.slice(0, maxMessageLength) || name,
    code,
    reason: name,
    details,
  };
}

/** Nodes put stack traces below the first line of what went wrong inside them; those are not for clients. */
function firstLine(text: string): string {
  return text.split(/[\r\n]/, 1)[0] ?? '';
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
