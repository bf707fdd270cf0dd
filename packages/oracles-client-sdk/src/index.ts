export type { AgentTypes } from './core/agent-types.ts';
export type { SendOptions } from './core/chat-interface.ts';
export type { ChatStatus } from './core/chat-state.ts';
export type { BrowserTool, BrowserTools } from './core/client-tools.ts';
export type { ChainMessage } from './core/contract-messages.ts';
export type { SignedArtifact } from './core/credentials.ts';
export type { StreamingMode } from './core/event-buffer.ts';
export { getOpenIdToken, type OpenIdToken } from './core/open-id-token.ts';
export type { ConfigOverrides, GatewayAccess, OracleConfig, Price } from './core/oracle-config.ts';
export { OracleError } from './core/oracle-error.ts';
export type { Schema } from './core/schema.ts';
export type { OutgoingFile, UploadOptions } from './core/upload-files.ts';
export type {
  AnyEvent,
  Approval,
  Attachment,
  Memory,
  MessageComponent,
  MessagePart,
  Session,
  ToolCall,
} from './core/wire.ts';
export type { ActionRenderProps, AgActionOptions } from './react/action-registry.ts';
export type { IComponentMetadata, IMessage, MessageContent } from './react/message-content.ts';
export {
  type AgAction,
  type AgActionConfig,
  type BrowserToolCallEvent,
  type ChatRunState,
  type CreateDelegationFn,
  type CreateInvocationFn,
  type DelegationResult,
  type IActionToolParams,
  type IActionTools,
  type IBrowserToolParams,
  type IBrowserTools,
  type IChatSession,
  IDLE_RUN_STATE,
  type IMatrixLoginProps,
  type InvocationResult,
  type IOraclesContextProps,
  type IOraclesProviderProps,
  type IWalletProps,
  type MessagesMap,
  type RenderComponentEvent,
  type ToolCallEvent,
} from './react/older-names.ts';
export {
  type OraclesContextValue,
  type TransactSignX,
  useAgAction,
  useOracleEvents,
  useOraclesContext,
  type Wallet,
} from './react/oracles-context.ts';
export { OraclesProvider, type OraclesProviderProps } from './react/oracles-provider.tsx';
export { type Renderable, renderMessageContent } from './react/render-message-content.tsx';
export type { IChatOptions, UIComponentProps, UIComponents, UIComponentsOf } from './react/ui-components.ts';
export { type OraclesConfigResult, useOraclesConfig } from './react/use-agent.ts';
export { type UseChatResult, useChat } from './react/use-chat.ts';
export { type ContractOracleResult, type ContractStatus, useContractOracle } from './react/use-contract-oracle.ts';
export {
  type MemoryEngineResult,
  type ModelInfo,
  type OpenIdTokenResult,
  type UseModelsResult,
  useGetOpenIdToken,
  useMemoryEngine,
  useModels,
} from './react/use-memory-engine.ts';
export {
  type OracleSessionsOptions,
  type OracleSessionsResult,
  useOracleSessions,
} from './react/use-oracle-sessions.ts';
