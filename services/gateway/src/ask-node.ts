// One query, from the request's bytes to the finished answer: upstream.ts, then encode-response.ts.
import { type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf';
import { toGrpcCode } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { type Answer, toFailureAnswer, toJsonAnswer } from './answer.ts';
import type { Encoded } from './encode-response.ts';
import { parseDetails, printDetail } from './gateway-error.ts';
import type { Snapshot } from './live-table.ts';
import type { RequestMetadata } from './metadata.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { Route } from './route-table.ts';
import type { GrpcFailure } from './upstream/call.ts';
import type { Upstream } from './upstream/upstream.ts';

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

export interface AskParts {
  upstream: Upstream;
  metrics: GatewayMetrics;
  logger: Logger;
}

/** How deep types that have to be asked for may lie inside each other. */
const maxRounds = 8;
/** Types of an error's details that are asked for. */
const maxDetailTypes = 8;

export function createAskNode({ upstream, metrics, logger }: AskParts) {
  return async (
    { route, bytes, metadata, minHeight, once, proto3, snapshot }: Query,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const started = performance.now();
    const answer = await upstream.call({
      path: route.grpcPath,
      body: bytes,
      metadata: metadata.metadata,
      timeoutMs: metadata.timeoutMs,
      height: metadata.height === '' ? undefined : Number(metadata.height),
      minHeight,
      once,
      signal,
    });
    metrics.observeUpstream(route.grpcPath, answer.ok ? 0 : answer.code, (performance.now() - started) / 1000);
    if (!answer.ok && (answer.fault === 'malformed' || answer.fault === 'too large'))
      logger.warn({ method: route.grpcPath, fault: answer.message }, 'an answer of the node could not be taken');
    if (!answer.ok) {
      const details = parseDetails(answer.details);
      await snapshot.learner?.learn(details.slice(0, maxDetailTypes).map(({ typeName }) => typeName));
      return toFailureAnswer(
        answer,
        details.map((detail) => printDetail(detail, snapshot)),
      );
    }
    for (let round = 0; ; round += 1) {
      const encoded = (proto3 ? encodeProto3 : encodeAnswer)(snapshot, route, answer.message);
      if (encoded.ok) return toJsonAnswer(encoded.json, answer.metadata);
      const { missingTypes = [] } = encoded;
      await snapshot.learner?.learn(missingTypes);
      // A type that was learned may hold others; one that nobody knows is the end.
      const isStuck = missingTypes.some((name) => !snapshot.schema.registry.getMessage(name));
      if (round < maxRounds && missingTypes.length > 0 && !isStuck) continue;
      logger.warn({ method: route.grpcPath, fault: encoded.message }, 'an answer of the node could not be read');
      return toFailureAnswer(unreadable(encoded), []);
    }
  };
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
