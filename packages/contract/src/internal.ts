// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export {
  type CreateSession,
  createSessionSchema,
  defaultSessionTitle,
  renameSessionSchema,
  type SessionList,
  sessionDeletedSchema,
  sessionListSchema,
  sessionParamsSchema,
} from './agent-sessions.ts';
export { answerApprovalSchema, approvalParamsSchema, approvalReplySchema } from './approvals.ts';
export { type AuditAction, type AuditLine, type AuditQuery, auditListSchema, auditQuerySchema } from './audit.ts';
export { boundedText } from './bounded-text.ts';
export {
  type CreditAccount,
  type CreditClaim,
  type CreditTopUp,
  creditAccountParamsSchema,
  creditAccountSchema,
  creditClaimParamsSchema,
  creditTopUpSchema,
} from './credits.ts';
export {
  delegationParamsSchema,
  delegationRevokedSchema,
  delegationStatusSchema,
  delegationStoredSchema,
  type StoreDelegation,
  storeDelegationSchema,
} from './delegation.ts';
export { type DidDocument, didDocumentSchema } from './did-document.ts';
export { toErrorBody, toReasonPhrase } from './errors.ts';
export { clientEvents, reauthorizeComponentName, serverEvents, toSocketPayload } from './event-catalogue.ts';
export { fileParamsSchema, type UploadedFile, uploadedFileSchema, uploadQuerySchema } from './files.ts';
export { type ApiKey, apiKeyFileSchema, type GatewayErrorBody, gatewayErrorBodySchema } from './gateway.ts';
export { type GrpcCode, type GrpcStatusName, toGrpcCode, toGrpcStatus, toRefusalGrpcCode } from './grpc-status.ts';
export { agentLandingSchema, type GatewayHealth, gatewayHealthSchema } from './health.ts';
export { corsMethods, corsRequestHeaders, eventStreamHeaders, heightHeader, minHeightHeader } from './http-headers.ts';
export { findLanguageTag } from './language-names.ts';
export { toLanguageTag } from './language-tag.ts';
export { memoryLimits, shutdownTimeoutMs } from './limits.ts';
export {
  type CreateMemory,
  createMemorySchema,
  type Memory,
  type MemoryList,
  memoryDeletedSchema,
  memoryListSchema,
  memoryParamsSchema,
  memoryQuerySchema,
  memorySchema,
} from './memory.ts';
export { type MessageComponent, type MessagePage, messageListSchema, messagePageSchema } from './messages.ts';
export { createMinuteWindows, type MinuteCount, mergedMs, minuteMs } from './minute-windows.ts';
export { type ModelList, modelListSchema } from './models.ts';
export {
  type CursorPageQuery,
  cursorPageQuerySchema,
  type OffsetPageQuery,
  offsetPageQuerySchema,
} from './pagination.ts';
export { parseJson } from './parse-json.ts';
export {
  defaultServiceCode,
  mxcUriPattern,
  pinPattern,
  serviceCodePattern,
  toolNamePattern,
  uuidPattern,
  visibleAsciiPattern,
} from './patterns.ts';
export { toPaymentDetails } from './payment-details.ts';
export {
  type SetUserPreferences,
  setUserPreferencesSchema,
  type UserPreferences,
  userPreferencesReplySchema,
  userPreferencesSchema,
} from './preferences.ts';
export { timeZoneSchema } from './primitives.ts';
export { isRequestId, lookUpPrefix } from './request-id.ts';
export type { ApprovalStatus } from './run-status.ts';
export { frameNumberSchema, type LiveRunReply, liveRunReplySchema, runParamsSchema, runQuerySchema } from './runs.ts';
export {
  type AgAction,
  abortReplySchema,
  abortSchema,
  browserToolSchema,
  type EncryptedFile,
  encryptedFileSchema,
  type MessageAttachment,
  phoneContextSchema,
  phoneNote,
  type SendMessageInput,
} from './send-message.ts';
export {
  type AnyEvent,
  clientEventPayloadSchemas,
  serverEventPayloadSchemas,
  socketAuthSchema,
  socketQuerySchema,
} from './socket-events.ts';
export {
  scheduledMessagePrefix,
  type Task,
  type TaskList,
  taskCancelledSchema,
  taskListSchema,
  taskParamsSchema,
} from './tasks.ts';
export { isTimeZone } from './time-zone.ts';
export {
  phoneNumberSchema,
  type UssdDebugRecord,
  type UssdReport,
  type UssdReportList,
  type UssdSessionsRecord,
  ussdDebugRecordSchema,
  ussdReportListSchema,
  ussdRequestSchema,
  ussdSessionParamsSchema,
  ussdSessionsRecordSchema,
} from './ussd.ts';
export {
  type ConvertedForm,
  convertedFormSchema,
  type ListedProgram,
  type ListedPrograms,
  listedProgramsSchema,
  type ProgramDraft,
  type ProgramFiles,
  type ProgramProblem,
  type ProgramReport,
  type ProgramStats,
  type ProgramVersions,
  programDraftSchema,
  programReportSchema,
  programStatsSchema,
  programVersionsSchema,
  type StateCounts,
  type TriedCall,
  triedCallSchema,
} from './ussd-programs.ts';
export { ussdReplies } from './ussd-replies.ts';
export {
  type CallerOverview,
  callerSchema,
  type DayCount,
  type DeliveryStatus,
  deliveryStatuses,
  type ListedResult,
  type ListedSet,
  type QuestionSummary,
  type RecentCallers,
  type ResultPage,
  type ResultSource,
  type ResultSummary,
  recentCallersSchema,
  resultPageSchema,
  resultSetsSchema,
  resultSources,
  resultSummarySchema,
  type UssdCaller,
  type UssdResult,
} from './ussd-results.ts';
