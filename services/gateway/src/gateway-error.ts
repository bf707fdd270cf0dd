import { AppError } from '@palaver/contract';
import { type GatewayErrorBody, toGrpcStatus, toReasonPhrase, toRefusalGrpcCode } from '@palaver/contract/internal';
import type { Schema } from './descriptors/schema.ts';
import type { Encoder } from './encode-response.ts';
import { WireReader, wire } from './printer/wire-reader.ts';
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

/** What a node adds to a failure: an `Any`. */
export interface Detail {
  typeUrl: string;
  typeName: string;
  value: Uint8Array;
}

/** `grpc-status-details-bin`: a `google.rpc.Status` in base64. */
export function parseDetails(text: string | undefined): Detail[] {
  if (text === undefined || text.length > maxDetailsLength) return [];
  try {
    const reader = new WireReader(Buffer.from(text, 'base64'));
    const details: Detail[] = [];
    while (reader.pos < reader.end) {
      const tag = reader.tag();
      if (tag !== ((3 << 3) | wire.bytes)) reader.skip(tag);
      else details.push(parseDetail(reader.bytes.subarray(reader.span(), reader.pos)));
    }
    return details;
  } catch {
    return []; // the status is kept without its details, which cannot be read
  }
}

function parseDetail(any: Uint8Array): Detail {
  const reader = new WireReader(any);
  let typeUrl = '';
  let value: Uint8Array = new Uint8Array();
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wire.bytes)) typeUrl = reader.bytes.toString('utf8', reader.span(), reader.pos);
    else if (tag === ((2 << 3) | wire.bytes)) value = reader.bytes.subarray(reader.span(), reader.pos);
    else reader.skip(tag);
  }
  return { typeUrl, typeName: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), value };
}

/** A detail as JSON. One whose type is not known keeps its bytes. */
export function printDetail(
  { typeUrl, typeName, value }: Detail,
  { encoder, schema }: { encoder: Encoder; schema: Schema },
): { '@type': string } {
  const known = schema.registry.getMessage(typeName);
  const encoded = known && encoder.encode(known, value);
  if (!encoded?.ok) return { '@type': typeUrl, value: Buffer.from(value).toString('base64') } as { '@type': string };
  const json: unknown = JSON.parse(encoded.json);
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return { '@type': typeUrl, ...(isObject ? json : { value: json }) };
}
