export { auditVariables, type BaseConfig, baseVariables } from './base-config.ts';
export { clientAddress, envCidrs, rawClientAddress, toAddressKey } from './client-address.ts';
export { CloseStack, keepOpen } from './close-stack.ts';
export {
  type ConfigOptions,
  type Env,
  findMisspelt,
  findUnknownVariables,
  listVariables,
  loadConfig,
  parseConfig,
  toConfigMessage,
  type Variable,
  type VariableMeta,
} from './config.ts';
export { type CorsOptions, envOrigins, toOriginRules } from './cors.ts';
export { type CountInMinute, countInMemory, countInRedis } from './count-in-minute.ts';
export { createServer, type Server, type ServerOptions } from './create-server.ts';
export { prepareDataDir, toDatabaseUrl, toDataFolder, toStoreOptions } from './data-dir.ts';
export { addDocsPage, type DocsPageOptions } from './docs-page.ts';
export { type Edge, toEdge, toOperatorsFile } from './edge.ts';
export { withEnvFile } from './env-file.ts';
export { envBoolean, envInteger, envList, envUrl, parseKeyBytes } from './env-types.ts';
export { sendError, toAppError } from './error-reply.ts';
export { createProbes } from './health-probes.ts';
export { isJsonTooDeep } from './json-depth.ts';
export { isAllowedPage, isForeignOrigin, isServedHost, isTrustedLocal } from './local-trust.ts';
export { createLogger, type Logger, sendLogsTo } from './logger.ts';
export { maskPhone, maskText } from './mask.ts';
export { addStoreMetrics } from './metrics.ts';
export { addAuditRoute, addOperatorAudit, type OperatorAudit, toAuditActor } from './operator-audit.ts';
export { equalSecrets } from './operator-guard.ts';
export {
  addOperator,
  loadOperators,
  type Operator,
  type OperatorRole,
  operatorRoles,
  revokeOperator,
} from './operators.ts';
export { ownSecret } from './production-rules.ts';
export {
  addRateLimit,
  createRateLimit,
  type RateLimit,
  type RateLimitOptions,
  type RateStanding,
  setRateHeaders,
  toRateError,
} from './rate-limit.ts';
export type { RecentError } from './recent-errors.ts';
export { askRedis, openRedis } from './redis.ts';
export { nameCaller } from './request-log.ts';
export {
  closeServer,
  exitOnStartFault,
  isMain,
  type ListenOptions,
  listen,
  type RunningService,
  runMain,
  stopOnSignals,
  toListenError,
  toReachableHost,
} from './run-service.ts';
export { loadOrCreateSecretFile } from './secret-file.ts';
export { serializeErrorPlaces } from './serialize-error.ts';
export { StartError } from './start-error.ts';
export { toCsvLines } from './to-csv.ts';
export { inSpan, setSpanRoute, traceHeaders } from './tracing.ts';
