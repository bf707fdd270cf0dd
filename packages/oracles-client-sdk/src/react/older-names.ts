// Names of `@ixo/oracles-client-sdk` 1.4 for applications that were written for it: docs/migrating.md.
import type { BrowserTool, BrowserTools } from '../core/client-tools.ts';
import type { Sign, SignedArtifact } from '../core/credentials.ts';
import type { Schema } from '../core/schema.ts';
import type { MatrixSession } from '../core/transport.ts';
import type { AnyEvent, Arguments, Session } from '../core/wire.ts';
import type { ActionRenderProps, AgActionOptions } from './action-registry.ts';
import type { IMessage } from './message-content.ts';
import type { OraclesContextValue, Wallet } from './oracles-context.ts';
import type { OraclesProviderProps } from './oracles-provider.tsx';

/** @deprecated Use `Session`. */
export type IChatSession = Session;
/** @deprecated Use `BrowserTool`. */
export type IBrowserToolParams = BrowserTool;
/** @deprecated Use `BrowserTools`. */
export type IBrowserTools = BrowserTools;
/** @deprecated Use `AgActionOptions`. */
export type AgActionConfig<S extends Schema = Schema> = AgActionOptions<S>;
/** @deprecated Use `SignedArtifact`. */
export type DelegationResult = SignedArtifact;
/** @deprecated Use `SignedArtifact`. */
export type InvocationResult = SignedArtifact;
/** @deprecated Use `OraclesProviderProps['createDelegation']`. */
export type CreateDelegationFn = Sign;
/** @deprecated Use `OraclesProviderProps['createInvocation']`. */
export type CreateInvocationFn = Sign;
/** @deprecated Use `Wallet['matrix']`. */
export type IMatrixLoginProps = MatrixSession;
/** @deprecated Use `Wallet`. */
export type IWalletProps = Wallet;
/** @deprecated Use `OraclesProviderProps`. */
export type IOraclesProviderProps = OraclesProviderProps;
/** @deprecated Use `OraclesContextValue`. */
export type IOraclesContextProps = OraclesContextValue;
/** @deprecated Use `Record<string, IMessage>`. */
export type MessagesMap = Record<string, IMessage>;
/** @deprecated Use `Extract<AnyEvent, { eventName: 'tool_call' }>`. */
export type ToolCallEvent = Extract<AnyEvent, { eventName: 'tool_call' }>;
/** @deprecated Use `Extract<AnyEvent, { eventName: 'render_component' }>`. */
export type RenderComponentEvent = Extract<AnyEvent, { eventName: 'render_component' }>;
/** @deprecated Use `Extract<AnyEvent, { eventName: 'browser_tool_call' }>`. */
export type BrowserToolCallEvent = Extract<AnyEvent, { eventName: 'browser_tool_call' }>;

/** @deprecated Use `AgActionOptions`. */
export interface AgAction {
  name: string;
  description: string;
  parameters: Schema;
  hasRender: boolean;
}

/** @deprecated Use `AgActionOptions`. */
export interface IActionToolParams {
  toolName: string;
  description: string;
  schema: Schema;
  handler: (args: unknown) => unknown;
  render?: ((props: ActionRenderProps<Arguments>) => unknown) | undefined;
}
/** @deprecated Use `AgActionOptions`. */
export type IActionTools = Record<string, IActionToolParams>;

/** @deprecated Use `status` of `useChat`, and `status` of the last message. */
export interface ChatRunState {
  runId: string | null;
  requestId: string | null;
  reconnecting: boolean;
  resumed: number;
  ended: 'done' | 'aborted' | 'interrupted' | 'failed' | 'disconnected' | null;
}

/** @deprecated Use `status` of `useChat`. */
export const IDLE_RUN_STATE: ChatRunState = {
  runId: null,
  requestId: null,
  reconnecting: false,
  resumed: 0,
  ended: null,
};

const ends = { complete: 'done', aborted: 'aborted', failed: 'failed' } as const;

export function toRunState(messages: readonly IMessage[]): ChatRunState {
  const last = messages.at(-1);
  if (last?.type !== 'ai') return { ...IDLE_RUN_STATE, requestId: last?.requestId ?? null };
  const ended = last.status === 'sending' || last.status === 'streaming' ? null : ends[last.status];
  return { ...IDLE_RUN_STATE, requestId: last.requestId, ended };
}
