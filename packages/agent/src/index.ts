export {
  AppError,
  type Approval,
  type Attachment,
  type BrowserTool,
  type EndedRunStatus,
  type ErrorCode,
  type Message,
  type MessageFinish,
  type PhoneContext,
  type RunStatus,
  type SendMessage,
  type SseEvent,
  type SseEventData,
  type ToolErrorCode,
} from '@palaver/contract';
export type { Task } from '@palaver/contract/internal';
export { type Logger, type RateStanding, type Server, withEnvFile } from '@palaver/service-kit';
export type { AuditLog, Migration, PersonalData, Store } from '@palaver/store';
export type { Capability, MintedToken } from '@palaver/ucan';
export type { AgentCalls, AgentSession, Answer, AnswerStream, CallOptions } from './app/calls.ts';
export { createAgent, type InferAgent, type OracleApp, type OracleAppOptions } from './app/create-agent.ts';
export {
  createTestRuntime,
  type TestRuntime,
  type TestRuntimeOptions,
  type TestSend,
  type TestTurn,
} from './app/create-test-runtime.ts';
export { identityOf, type PublicRoute } from './auth/auth-hook.ts';
export { createSeal, type Seal } from './auth/seal.ts';
export { agentVariables } from './config.ts';
export type {
  AgentRun,
  AnswerForm,
  CallerResult,
  CallerTool,
  DirectCall,
  EarlierMessage,
  OpenMessage,
  RunEvent,
  RunQuery,
  RunSummary,
  Sender,
} from './define/agent-run.ts';
export type {
  Middleware,
  ModelCall,
  ModelResult,
  PendingSend,
  StepContent,
  ToolCallRequest,
  TurnEnd,
} from './define/middleware.ts';
export {
  defineOraclePlugin,
  type FileOwner,
  type OraclePlugin,
  type PluginContext,
  type PluginDefinition,
  type PluginManifest,
  type SentFile,
  type TableTypes,
  tablesOf,
} from './define/plugin.ts';
export {
  type BlobSource,
  type BlobStore,
  type RuntimeContext,
  type ScheduledPrompt,
  ToolError,
  type ToolProgress,
} from './define/runtime-context.ts';
export type { Features, PluginStatus } from './define/select-plugins.ts';
export {
  type Awaitable,
  type InputOf,
  type JsonSchema,
  type PublicTool,
  type SubAgent,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type Tools,
  type ToolTypes,
  type TypedTool,
  tool,
  type ValueOf,
  type ValueSchema,
} from './define/tool.ts';
export { estimateTokens, type ModelRole, type Models } from './models/create-models.ts';
export {
  createScriptedModel,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
} from './models/scripted-model.ts';
export { openCallsOf } from './runs/input.ts';
export type { ApprovalAnswer } from './store/approvals.ts';
export type { MessageStore } from './store/messages.ts';
export type { AgentPerson } from './store/personal-data.ts';
export { removeSettled, type SettledRule } from './store/retention.ts';
export { holdSession, type OracleIdentity, type SessionStore } from './store/sessions.ts';
export type { AgentBehaviour, CallSettings } from './turn/behaviour.ts';
