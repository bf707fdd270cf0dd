import type { FileRegistry } from '@bufbuild/protobuf';
import { AppError, type GatewayErrorBody, toGrpcStatus, toReasonPhrase, toRefusalGrpcCode } from '@palaver/contract';
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

/** `grpc-status-details-bin`: a `google.rpc.Status` in base64. Types that are not known keep their bytes. */
export function readDetails(text: string | undefined, { encoder, registry }: DetailTypes): GatewayErrorBody['details'] {
  if (text === undefined || text.length > maxDetailsLength) return [];
  try {
    const reader = new WireReader(Buffer.from(text, 'base64'));
    const details: GatewayErrorBody['details'] = [];
    while (reader.pos < reader.end) {
      const tag = reader.tag();
      if (tag !== ((3 << 3) | wire.bytes)) reader.skip(tag);
      else details.push(readDetail(reader.bytes.subarray(reader.span(), reader.pos), { encoder, registry }));
    }
    return details;
  } catch {
    return []; // the status itself stands; what was to explain it cannot be read
  }
}

interface DetailTypes {
  encoder: Encoder;
  registry: FileRegistry;
}

function readDetail(any: Uint8Array, { encoder, registry }: DetailTypes): { '@type': string } {
  const reader = new WireReader(any);
  let type = '';
  let value: Uint8Array = new Uint8Array();
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wire.bytes)) type = reader.bytes.toString('utf8', reader.span(), reader.pos);
    else if (tag === ((2 << 3) | wire.bytes)) value = reader.bytes.subarray(reader.span(), reader.pos);
    else reader.skip(tag);
  }
  const known = registry.getMessage(type.slice(type.lastIndexOf('/') + 1));
  const encoded = known && encoder.encode(known, value);
  if (!encoded?.ok) return { '@type': type, value: Buffer.from(value).toString('base64') } as { '@type': string };
  const json: unknown = JSON.parse(encoded.json);
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return { '@type': type, ...(isObject ? json : { value: json }) };
}
