import type { ComponentType } from 'react';
import type { BrowserTools } from '../core/client-tools.ts';
import type { StreamingMode } from '../core/event-buffer.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { OracleError } from '../core/oracle-error.ts';
import type { Schema } from '../core/schema.ts';
import type { AnyEvent, CallStatus } from '../core/wire.ts';
import type { IComponentMetadata, IMessage } from './message-content.ts';

interface ComponentProps extends Pick<IComponentMetadata['props'], 'id' | 'args' | 'output' | 'error' | 'isRefused'> {
  name: string;
  status: CallStatus;
  isLoading?: boolean | undefined;
}

/** A component of the agent also gets each of its `args` as a property, a tool call `toolName` and `eventId`, an event its fields. */
export type UIComponentProps<Event extends { payload: unknown } | undefined = undefined> = ComponentProps &
  (Event extends { payload: infer Payload } ? Omit<Payload, keyof ComponentProps> : unknown);

/** Components by their name for the agent; a tool's name shows its calls, `ToolCall` those of other tools, `Error` why an answer failed. */
// biome-ignore lint/suspicious/noExplicitAny: each component knows its own properties.
export type UIComponents = Record<string, ComponentType<any>>;

export interface IChatOptions<Schemas extends Record<string, Schema> = Record<string, Schema>> {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: BrowserTools<Schemas> | undefined;
  uiComponents?: UIComponents | undefined;
  overrides?: ConfigOverrides | undefined;
  streamingMode?: StreamingMode | undefined;
  /** How often `throttled` draws: every 50 ms by default. */
  streamingThrottleMs?: number | undefined;
  /** Messages per page of the history: 20 by default. */
  historyPageSize?: number | undefined;
  /** The model that answers, of `useModels`; the agent's own by default. */
  model?: string | undefined;
  /** Called with every event of the session, `router_update` included. */
  onEvent?: ((event: AnyEvent) => void) | undefined;
  /** Called when an answer has ended without a failure. */
  onFinish?: ((message: IMessage) => void) | undefined;
  onError?: ((error: OracleError) => void) | undefined;
}
