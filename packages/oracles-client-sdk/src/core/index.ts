export { type AgentApi, type CallTicket, createAgentApi, type LiveRun } from './agent-api.ts';
export { type Approvals, createApprovals } from './approvals.ts';
export { type Chat, createChat } from './chat.ts';
export type { ChatOptions, ChatSnapshot, SendOptions } from './chat-interface.ts';
export { type ChatMessage, type MessageStatus, toMessageParts } from './chat-message.ts';
export { type ChatState, type ChatStatus, toChatStatus } from './chat-state.ts';
export type { BrowserTool, BrowserTools, ClientAction, ClientTools } from './client-tools.ts';
export {
  type CredentialCache,
  type CredentialCacheOptions,
  type Credentials,
  createCredentialCache,
  type Sign,
  type SignedArtifact,
} from './credentials.ts';
export type { StreamingMode } from './event-buffer.ts';
export { createEventStreamParser, readEventStream, type ServerSentEvent } from './event-stream.ts';
export { type FollowOptions, followRun } from './follow-turns.ts';
export { getOpenIdToken, type OpenIdToken } from './open-id-token.ts';
export { type ConfigOverrides, type OracleConfig, type Price, resolveOracleConfig } from './oracle-config.ts';
export { OracleError, toClaimIds } from './oracle-error.ts';
export type { Schema, SchemaOutput } from './schema.ts';
export type { OpenSocket, SocketChannel, SocketChannelOptions } from './socket-channel.ts';
export { createTransport, type MatrixSession, type Transport, type TransportOptions } from './transport.ts';
export { type OutgoingFile, type UploadOptions, uploadFile } from './upload-files.ts';
export type {
  AnyEvent,
  Approval,
  Attachment,
  GrantedCapability,
  Memory,
  MemoryList,
  MessageComponent,
  MessagePage,
  MessagePart,
  Session,
  SessionList,
  StreamEvent,
  ToolCall,
  WireMessage,
} from './wire.ts';
