// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export type { ZodTypeProvider } from 'fastify-type-provider-zod';
export { auditVariables, type BaseConfig, type Edge, isOwnMachine, toEdge, toOperatorsFile } from './base-config.ts';
export { createRawClientAddress, envCidrs, type TrustProxy, toAddressKey } from './client-address.ts';
export {
  findMisspelt,
  findUnknownVariables,
  isProduction,
  listVariables,
  ownSecret,
  parseConfig,
  toConfigMessage,
  type Variable,
} from './config.ts';
export { toFirstSegment } from './create-server.ts';
export {
  loadOrCreateSecretFile,
  makeFolder,
  prepareDataDir,
  toDatabaseUrl,
  toDataFolder,
  toStoreOptions,
} from './data-dir.ts';
export { addApiDocs, describeRoutes, tableReply, toReply } from './docs.ts';
export { isTrue, parseKeyBytes } from './env-types.ts';
export { sendError, serializeErrorPlaces } from './errors.ts';
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
export { createProbes } from './lifecycle.ts';
export {
  addRateLimit,
  type ByteShare,
  type CountInMinute,
  countInMemory,
  countInRedis,
  createByteCounter,
  createRateLimit,
  noteCounted,
  type RateLimit,
  type RateLimitOptions,
  setRateHeaders,
  toRateError,
  toRateHeaders,
} from './limits.ts';
export { sendLogsTo } from './logger.ts';
export {
  createNumberMask,
  maskNumbers,
  maskPhone,
  maskText,
  printable,
  toPrintableJson,
  toPrintableProse,
} from './mask.ts';
export { addGauge, addStoreMetrics, Durations } from './metrics.ts';
export { addAuditRoute, addOperatorAudit, createRecentKeys, toAuditBy } from './operator-audit.ts';
export {
  addOperator,
  createSchedulerGuard,
  equalSecrets,
  isNamed,
  loadOperators,
  type OperatorRole,
  operatorRoles,
  revokeOperator,
} from './operators.ts';
export {
  type CorsOptions,
  envOrigins,
  isAllowedPage,
  isForeignOrigin,
  isForwarded,
  isServedHost,
  isTrustedLocal,
  toOriginRules,
} from './origins.ts';
export { addReadyReplies, type FindReply, type ReadyReply } from './ready-replies.ts';
export { openRedis } from './redis.ts';
export { isUnchanged, openEventStream, sendFile, signalOf, takeOver, toCsvLines, toEvent } from './replies.ts';
export { addTextParser, findEncodingFault, findTextFault, isJsonTooDeep, measureJson } from './request-body.ts';
export { nameCaller, noteAnsweredErrors, type RecentError } from './request-log.ts';
export { exitOnStartFault, stopOnSignals, toListenError, toReachableHost } from './run-service.ts';
export { startThread, type Thread } from './thread.ts';
export { inSpan, setSpanRoute, toErrorType } from './tracing.ts';
export { createFairQueue, createLimiter, type QueueOwner, runEvery } from './work.ts';
