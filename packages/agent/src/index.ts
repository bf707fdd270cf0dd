export {
  AppError,
  type Approval,
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
export { type Logger, type RateStanding, type Server, withEnvFile } from '@palaver/service-kit';
export type { AuditLog, Migration, PersonalData, Store } from '@palaver/store';
export type { Capability, MintedToken } from '@palaver/ucan';
export { createOracleApp, type OracleApp, type OracleAppOptions } from './app/create-oracle-app.ts';
export {
  createTestRuntime,
  type TestRuntime,
  type TestRuntimeOptions,
  type TestSend,
  type TestTurn,
} from './app/create-test-runtime.ts';
export type { PublicRoute } from './auth/auth-hook.ts';
export { identityOf } from './auth/auth-hook.ts';
export type { AgentBehaviour, CallSettings } from './loop/agent-behaviour.ts';
export type { StepContent } from './loop/collect-content.ts';
export type { ModelRole, Models } from './models/create-models.ts';
export {
  createScriptedModel,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
} from './models/scripted-model.ts';
export type {
  AgentRun,
  CallerResult,
  CallerTool,
  DirectCall,
  EarlierMessage,
  OpenMessage,
  RunEvent,
  RunQuery,
  RunSummary,
  Sender,
} from './plugins/agent-run.ts';
export type { Awaitable } from './plugins/awaitable.ts';
export { createBundledPlugins } from './plugins/bundled/create-bundled-plugins.ts';
export type {
  Middleware,
  ModelCall,
  ModelResult,
  PendingSend,
  ToolCallRequest,
  TurnEnd,
} from './plugins/middleware.ts';
export {
  defineOraclePlugin,
  type OraclePlugin,
  type PluginDefinition,
  type PluginManifest,
  type TableTypes,
  tablesOf,
} from './plugins/plugin.ts';
export type { PluginContext } from './plugins/plugin-context.ts';
export {
  type BlobSource,
  type BlobStore,
  type RuntimeContext,
  ToolError,
  type ToolProgress,
} from './plugins/runtime-context.ts';
export type { Features, PluginStatus } from './plugins/select-plugins.ts';
export {
  type JsonSchema,
  type PublicTool,
  type SubAgent,
  type Tool,
  type ToolDefinition,
  type Tools,
  tool,
} from './plugins/tool.ts';
export type { ApprovalAnswer } from './store/approvals.ts';
export type { MessageStore } from './store/messages.ts';
export type { AgentPerson } from './store/personal-data.ts';
export type { OracleIdentity, SessionStore } from './store/sessions.ts';
