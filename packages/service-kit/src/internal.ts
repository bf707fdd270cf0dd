// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export type { ZodTypeProvider } from 'fastify-type-provider-zod';
export { addApiDocs, tableReply, toReply } from './api-docs.ts';
export { auditVariables, type BaseConfig } from './base-config.ts';
export { type ByteShare, createByteCounter } from './byte-counter.ts';
export { createRawClientAddress, envCidrs, rawClientAddress, type TrustProxy, toAddressKey } from './client-address.ts';
export {
  findMisspelt,
  findUnknownVariables,
  listVariables,
  parseConfig,
  toConfigMessage,
  type Variable,
} from './config.ts';
export { type CorsOptions, envOrigins, toOriginRules } from './cors.ts';
export { type CountInMinute, countInMemory, countInRedis } from './count-in-minute.ts';
export { toFirstSegment } from './create-server.ts';
export { makeFolder, prepareDataDir, toDatabaseUrl, toDataFolder, toStoreOptions } from './data-dir.ts';
export { Durations } from './durations.ts';
export { type Edge, toEdge, toOperatorsFile } from './edge.ts';
export { isTrue, parseKeyBytes } from './env-types.ts';
export { sendError } from './error-reply.ts';
export { sendFile } from './export-stream.ts';
export { createFairQueue, type QueueOwner } from './fair-queue.ts';
export {
  AnswerTooLargeError,
  fetchBounded,
  fetchJson,
  limitResponses,
  readBounded,
  splitCredentials,
} from './fetch-bounded.ts';
export {
  decodeGrpcMessage,
  encodeGrpcMessage,
  type GrpcFrameFault,
  GrpcFrameReader,
  toGrpcFrame,
} from './grpc-frames.ts';
export { createProbes } from './health-probes.ts';
export { isJsonTooDeep, measureJson } from './json-depth.ts';
export { createLimiter } from './limiter.ts';
export { isAllowedPage, isForeignOrigin, isForwarded, isServedHost, isTrustedLocal } from './local-trust.ts';
export { sendLogsTo } from './logger.ts';
export { createNumberMask, maskNumbers, maskPhone, maskText } from './mask.ts';
export { addStoreMetrics, countAsStream } from './metrics.ts';
export { addAuditRoute, addOperatorAudit, createRecentKeys, toAuditBy } from './operator-audit.ts';
export { createSchedulerGuard, equalSecrets } from './operator-guard.ts';
export { addOperator, isNamed, loadOperators, type OperatorRole, operatorRoles, revokeOperator } from './operators.ts';
export { printable, toPrintableJson, toPrintableProse } from './printable.ts';
export { isProduction, ownSecret } from './production-rules.ts';
export {
  addRateLimit,
  createRateLimit,
  noteCounted,
  type RateLimit,
  type RateLimitOptions,
  setRateHeaders,
  toRateError,
  toRateHeaders,
} from './rate-limit.ts';
export { addReadyReplies, type FindReply, type ReadyReply } from './ready-replies.ts';
export type { RecentError } from './recent-errors.ts';
export { openRedis } from './redis.ts';
export { isUnchanged, openEventStream, signalOf, toEvent } from './replies.ts';
export { nameCaller } from './request-log.ts';
export { runEvery } from './run-every.ts';
export { exitOnStartFault, stopOnSignals, toListenError, toReachableHost } from './run-service.ts';
export { loadOrCreateSecretFile } from './secret-file.ts';
export { serializeErrorPlaces } from './serialize-error.ts';
export { addTextParser, findEncodingFault, findTextFault } from './text-body.ts';
export { startThread, type Thread } from './thread.ts';
export { toCsvLines } from './to-csv.ts';
export { inSpan, setSpanRoute } from './tracing.ts';
