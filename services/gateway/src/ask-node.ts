import type { DescMessage } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { type GatewayErrorBody, toGrpcCode } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { type Answer, parseDetails, toFailureAnswer, toJsonAnswer, toRawDetail, type WriteError } from './answer.ts';
import type { Loading } from './cache.ts';
import type { Encoded, Encoder } from './encode-response.ts';
import type { Snapshot } from './live-table.ts';
import type { RequestMetadata } from './metadata.ts';
import type { GatewayMetrics } from './metrics.ts';
import { pieceBytes } from './printer/pieces.ts';
import type { Route } from './route-table.ts';
import type { GrpcAnswer, GrpcFailure, QueryRequest, Send } from './upstream/call.ts';

export interface Query {
  route: Route;
  bytes: Uint8Array;
  metadata: RequestMetadata;
  minHeight: number;
  once?: boolean;
  proto3: boolean;
  snapshot: Snapshot;
}

export type AskNode = (query: Query) => Loading<Answer>;

export interface AskParts {
  send: Send;
  metrics: Pick<GatewayMetrics, 'observeUpstream'>;
  logger: Logger;
  writeError: WriteError;
}

/** How deep missing types may be nested. */
const maxRounds = 8;
/** Details of an error whose types are asked for. */
const maxLearned = 8;
/** Longer details are shown as their bytes. */
const maxDetailJson = 256 * 1024;

export function createAskNode({ send, metrics, ...reading }: AskParts): AskNode {
  return (query) => {
    const { route, bytes, metadata, minHeight, once } = query;
    const request: QueryRequest = {
      path: route.grpcPath,
      body: bytes,
      metadata: metadata.metadata,
      timeoutMs: metadata.timeoutMs,
      height: metadata.height === '' ? undefined : Number(metadata.height),
      minHeight,
      once,
    };
    const started = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const cancel = send(request, (answer) => {
      metrics.observeUpstream(route.grpcPath, answer.ok ? 0 : answer.code, (performance.now() - started) / 1000);
      // Inside the callback and not in a `then`: each step of a promise costs a microtask.
      try {
        resolve(toAnswer(query, answer, reading));
      } catch (error) {
        reject(error);
      }
    });
    return { value: promise, cancel };
  };
}

type Reading = Pick<AskParts, 'logger' | 'writeError'>;

function toAnswer(query: Query, answer: GrpcAnswer, reading: Reading): Answer | Promise<Answer> {
  if (!answer.ok) return toFailure(query, answer, reading);
  const { route, snapshot, proto3 } = query;
  const { message, metadata } = answer;
  const encoder = proto3 ? snapshot.standardEncoder : snapshot.encoder;
  if (message.length > pieceBytes) return printAnswer(query, answer, reading);
  const encoded = encoder.encode(route.method.output, message, route.responseBody);
  return encoded.ok ? toJsonAnswer(encoded.json, metadata) : printAnswer(query, answer, reading);
}

async function toFailure({ route, snapshot }: Query, answer: GrpcFailure, reading: Reading): Promise<Answer> {
  const { logger, writeError } = reading;
  if (answer.fault === 'malformed' || answer.fault === 'too large' || answer.fault === 'not gRPC')
    logger.warn({ method: route.grpcPath, fault: answer.message }, 'an answer of the node could not be taken');
  const details: GatewayErrorBody['details'] = [];
  for (const [index, any] of parseDetails(answer.details).entries()) {
    const learning = index < maxLearned ? snapshot : { ...snapshot, learner: undefined };
    const printed = await printLearning(learning, snapshot.encoder, { type: AnySchema, bytes: any });
    const isShort = printed.ok && printed.json.length <= maxDetailJson;
    const detail = isShort ? JSON.parse(printed.json.toString()) : toRawDetail(any);
    if (detail) details.push(detail);
  }
  return toFailureAnswer(answer, details, writeError);
}

async function printAnswer(
  { route, snapshot, proto3 }: Query,
  { message: bytes, metadata }: GrpcAnswer & { ok: true },
  { logger, writeError }: Reading,
): Promise<Answer> {
  const encoder = proto3 ? snapshot.standardEncoder : snapshot.encoder;
  const printed = await printLearning(snapshot, encoder, {
    type: route.method.output,
    bytes,
    only: route.responseBody,
  });
  if (printed.ok) return toJsonAnswer(printed.json, metadata);
  logger.warn({ method: route.grpcPath, fault: printed.message }, 'an answer of the node could not be read');
  return toFailureAnswer(unreadable(printed), [], writeError);
}

async function printLearning(
  { learner, schema }: Snapshot,
  encoder: Encoder,
  { type, bytes, only }: { type: DescMessage; bytes: Uint8Array; only?: string },
): Promise<Encoded<Buffer>> {
  for (let round = 0; ; round += 1) {
    const encoded = await encoder.encodeInPieces(type, bytes, only);
    const missing = encoded.ok ? [] : (encoded.missingTypes ?? []);
    if (missing.length === 0 || round === maxRounds) return encoded;
    await learner?.learn(missing);
    // A type that was learned may hold others; one that nobody knows is the end.
    if (missing.some((name) => !schema.registry.getMessage(name))) return encoded;
  }
}

/** What is wrong with the bytes of an answer is for the log; the missing type is for the client. */
function unreadable(encoded: Encoded & { ok: false }): GrpcFailure {
  const { missingTypes, isTooLarge } = encoded;
  const message = missingTypes || isTooLarge ? encoded.message : 'the answer of the node could not be read';
  if (isTooLarge)
    return { ok: false, code: toGrpcCode('RESOURCE_EXHAUSTED'), message, fault: 'too large', metadata: {} };
  return { ok: false, code: toGrpcCode(missingTypes ? 'UNKNOWN' : 'INTERNAL'), message, metadata: {} };
}
