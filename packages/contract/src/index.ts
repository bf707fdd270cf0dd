export {
  type CreateSession,
  createSessionSchema,
  defaultSessionTitle,
  type Session,
  type SessionDeleted,
  type SessionList,
  sessionDeletedSchema,
  sessionListSchema,
  sessionParamsSchema,
  sessionSchema,
} from './agent-sessions.ts';
export {
  type AnswerApproval,
  type Approval,
  type ApprovalReply,
  answerApprovalSchema,
  approvalParamsSchema,
  approvalReplySchema,
  approvalSchema,
} from './approvals.ts';
export {
  type AuditAction,
  type AuditLine,
  type AuditQuery,
  auditActions,
  auditLineSchema,
  auditListSchema,
  auditQuerySchema,
} from './audit.ts';
export { countCodePoints } from './code-points.ts';
export {
  type CreditAccount,
  type CreditClaim,
  type CreditTopUp,
  creditAccountParamsSchema,
  creditAccountSchema,
  creditClaimParamsSchema,
  creditClaimSchema,
  creditTopUpSchema,
} from './credits.ts';
export {
  type DelegationRevoked,
  type DelegationStatus,
  type DelegationStored,
  delegationParamsSchema,
  delegationRevokedSchema,
  delegationStatusSchema,
  delegationStoredSchema,
  type StoreDelegation,
  storeDelegationSchema,
} from './delegation.ts';
export { type DidDocument, didDocumentSchema } from './did-document.ts';
export {
  type ErrorBody,
  errorBodySchema,
  type PaymentRequiredBody,
  paymentRequiredBodySchema,
  type ValidationErrorBody,
  type ValidationIssue,
  validationErrorBodySchema,
} from './error-body.ts';
export {
  AppError,
  type ErrorCode,
  errorStatus,
  type ToolErrorCode,
  toErrorBody,
  toolErrorCodes,
  toReasonPhrase,
} from './errors.ts';
export {
  type ClientEventName,
  clientEvents,
  reauthorizeComponentName,
  type ServerEventName,
  serverEvents,
  toSocketPayload,
} from './event-catalogue.ts';
export {
  fileIdSchema,
  fileParamsSchema,
  type UploadedFile,
  uploadedFileSchema,
  uploadQuerySchema,
} from './files.ts';
export {
  type ApiKey,
  type ApiKeyFile,
  apiKeyFileSchema,
  type GatewayErrorBody,
  gatewayErrorBodySchema,
} from './gateway.ts';
export {
  type GrpcCode,
  type GrpcStatus,
  type GrpcStatusName,
  grpcStatuses,
  toGrpcCode,
  toGrpcStatus,
  toRefusalGrpcCode,
} from './grpc-status.ts';
export {
  type AgentHealth,
  type AgentLanding,
  agentHealthSchema,
  agentLandingSchema,
  type GatewayHealth,
  gatewayHealthSchema,
  type UssdHealth,
  type UssdRoot,
  ussdHealthSchema,
  ussdRootSchema,
} from './health.ts';
export { corsExposedHeaders, corsMethods, corsRequestHeaders, eventStreamHeaders } from './http-headers.ts';
export { toLanguageTag } from './language-tag.ts';
export {
  agentLimits,
  defaultPorts,
  gatewayLimits,
  memoryLimits,
  pageLimits,
  preferenceLimits,
  requestIdMaxCharacters,
  shutdownTimeoutMs,
  ucanLimits,
  ussdLimits,
} from './limits.ts';
export {
  type CreateMemory,
  createMemorySchema,
  type Memory,
  type MemoryDeleted,
  type MemoryList,
  type MemoryQuery,
  memoryDeletedSchema,
  memoryListSchema,
  memoryParamsSchema,
  memoryQuerySchema,
  memorySchema,
} from './memory.ts';
export {
  type Message,
  type MessageComponent,
  type MessageError,
  type MessageFinish,
  type MessageList,
  type MessagePage,
  type MessagePart,
  messageComponentSchema,
  messageErrorSchema,
  messageFinishSchema,
  messageListSchema,
  messagePageSchema,
  messagePartSchema,
  messageSchema,
  type SendMessageReply,
  sendMessageReplySchema,
  type ToolCall,
  toolCallSchema,
} from './messages.ts';
export { type ModelList, modelIdSchema, modelListSchema } from './models.ts';
export {
  type CursorPageQuery,
  cursorPageQuerySchema,
  decimalInteger,
  type OffsetPageQuery,
  offsetPageFields,
  offsetPageQuerySchema,
  pageLimitSchema,
} from './pagination.ts';
export {
  didPattern,
  matrixEventIdPattern,
  mimeTypePattern,
  mxcUriPattern,
  noControlCharactersPattern,
  phoneNumberPattern,
  pinPattern,
  serviceCodePattern,
  sha256Pattern,
  toolNamePattern,
  uuidPattern,
  visibleAsciiPattern,
} from './patterns.ts';
export { toPaymentDetails } from './payment-details.ts';
export {
  languageTagSchema,
  type SetUserPreferences,
  setUserPreferencesSchema,
  type UserPreferences,
  type UserPreferencesReply,
  userPreferencesReplySchema,
  userPreferencesSchema,
} from './preferences.ts';
export { didSchema, jsonObjectSchema, timestampSchema, timeZoneSchema, ucanTokenSchema } from './primitives.ts';
export { isRequestId } from './request-id.ts';
export {
  type ApprovalStatus,
  approvalStatuses,
  type CallStatus,
  callStatuses,
  type EndedRunStatus,
  endedRunStatuses,
  type LiveRunStatus,
  liveRunStatuses,
  type RunStatus,
} from './run-status.ts';
export {
  frameNumberSchema,
  type LiveRunReply,
  liveRunReplySchema,
  type RunQuery,
  runParamsSchema,
  runQuerySchema,
} from './runs.ts';
export {
  type Abort,
  type AbortReply,
  type AgAction,
  type Attachment,
  abortReplySchema,
  abortSchema,
  agActionSchema,
  attachmentSchema,
  type BrowserTool,
  browserToolSchema,
  type EncryptedFile,
  encryptedFileSchema,
  type MessageAttachment,
  messageAttachmentSchema,
  type PhoneContext,
  phoneContextSchema,
  phoneNote,
  type SendMessage,
  type SendMessageInput,
  sendMessageSchema,
} from './send-message.ts';
export {
  type ActionCallResult,
  type AnyEvent,
  type ApprovalResponse,
  type ClientEventPayload,
  clientEventPayloadSchemas,
  type ServerEventPayload,
  type SocketAuth,
  type SocketQuery,
  serverEventPayloadSchemas,
  socketAuthSchema,
  socketQuerySchema,
  type ToolResult,
} from './socket-events.ts';
export { type SseErrorKind, sseErrorKindSchema } from './sse-error-kind.ts';
export {
  type SseEvent,
  type SseEventData,
  type SseEventName,
  sseEventDataSchemas,
  sseEventSchema,
} from './sse-events.ts';
export {
  scheduledMessagePrefix,
  type Task,
  type TaskCancelled,
  type TaskList,
  taskCancelledSchema,
  taskListSchema,
  taskParamsSchema,
  taskSchema,
} from './tasks.ts';
export { isTimeZone } from './time-zone.ts';
export {
  phoneNumberSchema,
  type UssdDebugRecord,
  type UssdReport,
  type UssdReportList,
  type UssdRequest,
  type UssdSessionsRecord,
  ussdDebugRecordSchema,
  ussdReplySchema,
  ussdReportListSchema,
  ussdReportSchema,
  ussdRequestSchema,
  ussdSessionParamsSchema,
  ussdSessionsRecordSchema,
} from './ussd.ts';
export { ussdReplies } from './ussd-replies.ts';
export { toValidationIssues } from './validation-issues.ts';
