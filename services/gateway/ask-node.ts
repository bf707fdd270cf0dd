// One query, from the request's bytes to the finished answer: upstream.ts, then encode-response.ts.
import { type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf';
import { toGrpcCode } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import { type Answer, toFailureAnswer, toJsonAnswer } from './answer.ts';
import type { Encoded } from './encode-response.ts';
import { parseDetails, printDetail } from './gateway-error.ts';
import type { LatestHeight } from './latest-height.ts';
import type { LiveTable, Snapshot } from './live-table.ts';
import type { RequestMetadata } from './metadata.ts';
import type { Route } from './route-table.ts';
import type { Tally } from './tally.ts';
import type { GrpcFailure } from './upstream/call.ts';
import type { Upstream } from './upstream.ts';

export interface Query {
  route: Route;
  bytes: Uint8Array;
  metadata: RequestMetadata;
  /** Standard proto3 JSON instead of the reference's. */
  proto3: boolean;
  snapshot: Snapshot;
}

export interface AskParts {
  upstream: Upstream;
  live: LiveTable;
  tally: Tally;
  logger: Logger;
  latestHeight: LatestHeight;
}

/** Types of one answer that may have to be asked for, one after the other. */
const maxLearned = 8;

export function createAskNode({ upstream, live, tally, logger, latestHeight }: AskParts) {
  return async ({ route, bytes, metadata, proto3, snapshot }: Query, signal: AbortSignal): Promise<Answer> => {
    const started = performance.now();
    const answer = await upstream.call({
      path: route.grpcPath,
      body: bytes,
      metadata: metadata.metadata,
      timeoutMs: metadata.timeoutMs,
      signal,
    });
    tally.observeUpstream(route.grpcPath, answer.ok ? 0 : answer.code, (performance.now() - started) / 1000);
    if (!answer.ok && (answer.fault === 'malformed' || answer.fault === 'too large'))
      logger.warn({ method: route.grpcPath, fault: answer.message }, 'an answer of the node could not be taken');
    if (!answer.ok) {
      const details = parseDetails(answer.details);
      for (const { typeName } of details.slice(0, maxLearned)) await live.learn(typeName);
      const { encoder, schema } = live.current() ?? snapshot;
      const printed = details.map((detail) => printDetail(detail, { encoder, registry: schema.registry }));
      return toFailureAnswer(answer, printed);
    }
    if (metadata.height === '') latestHeight.note(answer.metadata);

    let current = snapshot;
    for (let learned = 0; ; learned += 1) {
      const encoded = proto3
        ? encodeProto3(current, route, answer.message)
        : current.encoder.encode(outputOf(current, route), answer.message, route.responseBody);
      if (encoded.ok) return toJsonAnswer(encoded.json, answer.metadata);
      const { missingType } = encoded;
      if (learned === maxLearned || !missingType || !(await live.learn(missingType))) {
        logger.warn({ method: route.grpcPath, fault: encoded.message }, 'an answer of the node could not be read');
        return toFailureAnswer(unreadable(encoded), []);
      }
      current = live.current() ?? current;
    }
  };
}

/** The answer's type as the snapshot knows it: after learning a type, the registry is a new one. */
function outputOf({ schema }: Snapshot, { method }: Route): DescMessage {
  return schema.registry.getMessage(method.output.typeName) ?? method.output;
}

function encodeProto3(snapshot: Snapshot, route: Route, bytes: Uint8Array): Encoded {
  const type = outputOf(snapshot, route);
  try {
    const json = toJson(type, fromBinary(type, bytes), { registry: snapshot.schema.registry });
    const shown =
      route.responseBody && json && typeof json === 'object' ? bodyOf(type, json, route.responseBody) : json;
    return { ok: true, json: JSON.stringify(shown) };
  } catch (error) {
    const [, missingType] = /"(?:[^"]*\/)?([\w.]+)" is not in the type registry/.exec(String(error)) ?? [];
    return { ok: false, message: 'not a message of its type', ...(missingType !== undefined && { missingType }) };
  }
}

function bodyOf(type: DescMessage, json: object, name: string): unknown {
  const field = type.fields.find((candidate) => candidate.name === name);
  return (json as Record<string, unknown>)[field?.jsonName ?? name] ?? null;
}

/** The node's answer cannot be printed. What is wrong with its bytes is for the log, the missing type for the client. */
function unreadable(encoded: Extract<Encoded, { ok: false }>): GrpcFailure {
  const message = encoded.missingType ? encoded.message : 'the answer of the node could not be read';
  return { ok: false, code: toGrpcCode(encoded.missingType ? 'UNKNOWN' : 'INTERNAL'), message, metadata: {} };
}
