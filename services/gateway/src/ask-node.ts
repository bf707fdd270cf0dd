// One query, from the request's bytes to the finished answer: upstream.ts, then encode-response.ts.
import { type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf';
import { toGrpcCode } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { type Answer, toFailureAnswer, toJsonAnswer, type WriteError } from './answer.ts';
import type { Loading } from './cache.ts';
import type { Encoded } from './encode-response.ts';
import { parseDetails, printDetail } from './gateway-error.ts';
import type { Snapshot } from './live-table.ts';
import type { RequestMetadata } from './metadata.ts';
import type { Route } from './route-table.ts';
import type { GrpcAnswer, GrpcFailure } from './upstream/call.ts';
import type { QueryRequest, Send } from './upstream/send.ts';

export interface Query {
  route: Route;
  bytes: Uint8Array;
  metadata: RequestMetadata;
  /** The lowest height that the answer may be about. */
  minHeight: number;
  /** Whether the call may reach a node only once. */
  once?: boolean;
  /** Standard proto3 JSON instead of the reference's. */
  proto3: boolean;
  snapshot: Snapshot;
}

/** Begins a query. */
export type AskNode = (query: Query) => Loading<Answer>;

export interface AskParts {
  send: Send;
  logger: Logger;
  writeError: WriteError;
}

/** How deep missing types may be nested. */
const maxRounds = 8;
/** Types of an error's details that are asked for. */
const maxDetailTypes = 8;

export function createAskNode({ send, ...reading }: AskParts): AskNode {
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
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const cancel = send(request, (answer) => {
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

type Reading = Omit<AskParts, 'send'>;

function toAnswer(query: Query, answer: GrpcAnswer, reading: Reading): Answer | Promise<Answer> {
  if (!answer.ok) return toFailure(query, answer, reading);
  const encoded = encode(query, answer.message);
  return encoded.ok ? toJsonAnswer(encoded.json, answer.metadata) : learnAndEncode(query, answer, reading);
}

async function toFailure(
  { route, snapshot }: Query,
  answer: GrpcFailure,
  { logger, writeError }: Reading,
): Promise<Answer> {
  if (answer.fault === 'malformed' || answer.fault === 'too large')
    logger.warn({ method: route.grpcPath, fault: answer.message }, 'an answer of the node could not be taken');
  const details = parseDetails(answer.details);
  await snapshot.learner?.learn(details.slice(0, maxDetailTypes).map(({ typeName }) => typeName));
  return toFailureAnswer(
    answer,
    details.map((detail) => printDetail(detail, snapshot)),
    writeError,
  );
}

/** Prints an answer with types that are not known yet. */
async function learnAndEncode(
  query: Query,
  answer: GrpcAnswer & { ok: true },
  { logger, writeError }: Reading,
): Promise<Answer> {
  const { route, snapshot } = query;
  for (let round = 0; ; round += 1) {
    const encoded = encode(query, answer.message);
    if (encoded.ok) return toJsonAnswer(encoded.json, answer.metadata);
    const { missingTypes = [] } = encoded;
    await snapshot.learner?.learn(missingTypes);
    // A type that was learned may hold others; one that nobody knows is the end.
    const isStuck = missingTypes.some((name) => !snapshot.schema.registry.getMessage(name));
    if (round < maxRounds && missingTypes.length > 0 && !isStuck) continue;
    logger.warn({ method: route.grpcPath, fault: encoded.message }, 'an answer of the node could not be read');
    return toFailureAnswer(unreadable(encoded), [], writeError);
  }
}

function encode({ proto3, snapshot, route }: Query, bytes: Uint8Array): Encoded {
  return proto3 ? encodeProto3(snapshot, route, bytes) : encodeAnswer(snapshot, route, bytes);
}

function encodeAnswer({ encoder }: Snapshot, { method, responseBody }: Route, bytes: Uint8Array): Encoded {
  return encoder.encode(method.output, bytes, responseBody);
}

function encodeProto3(snapshot: Snapshot, route: Route, bytes: Uint8Array): Encoded {
  const type = route.method.output;
  try {
    const json = toJson(type, fromBinary(type, bytes), { registry: snapshot.schema.registry });
    const shown =
      route.responseBody && json && typeof json === 'object' ? bodyOf(type, json, route.responseBody) : json;
    return { ok: true, json: JSON.stringify(shown) };
  } catch {
    // The library stops at the first type it misses; the gateway's own printer names all of them.
    const listed = encodeAnswer(snapshot, route, bytes);
    return listed.ok ? { ok: false, message: 'not a message of its type' } : listed;
  }
}

function bodyOf(type: DescMessage, json: object, name: string): unknown {
  const field = type.fields.find((candidate) => candidate.name === name);
  return (json as Record<string, unknown>)[field?.jsonName ?? name] ?? null;
}

/** The node's answer cannot be printed. What is wrong with its bytes is for the log, the missing type for the client. */
function unreadable(encoded: Extract<Encoded, { ok: false }>): GrpcFailure {
  const message = encoded.missingTypes ? encoded.message : 'the answer of the node could not be read';
  return { ok: false, code: toGrpcCode(encoded.missingTypes ? 'UNKNOWN' : 'INTERNAL'), message, metadata: {} };
}
