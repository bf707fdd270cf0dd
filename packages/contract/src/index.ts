export { type Session, sessionSchema } from './agent-sessions.ts';
export { type ErrorBody, errorBodySchema } from './error-body.ts';
export { AppError, type ErrorCode, errorStatus, type ToolErrorCode } from './errors.ts';
export type { ServerEventName } from './event-catalogue.ts';
export {
  type ClientEventPayload,
  type ServerEventPayload,
  type SseEvent,
  type SseEventData,
  type SseEventName,
  sseEventSchema,
} from './events.ts';
export { agentLimits, defaultPorts, ucanLimits, ussdLimits } from './limits.ts';
export {
  type Message,
  type MessageError,
  type MessageFinish,
  type MessagePart,
  messageSchema,
  sendMessageReplySchema,
  type ToolCall,
} from './messages.ts';
export { didPattern, phoneNumberPattern } from './patterns.ts';
export type { EndedRunStatus, LiveRunStatus, RunStatus } from './run-status.ts';
export type { Approval, SseErrorKind } from './runs.ts';
export {
  type Attachment,
  type BrowserTool,
  type PhoneContext,
  type SendMessage,
  sendMessageSchema,
} from './send-message.ts';
