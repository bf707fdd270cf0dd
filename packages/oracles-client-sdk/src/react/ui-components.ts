import type { ComponentType } from 'react';
import type { AgentTypes } from '../core/agent-types.ts';
import type { ChatOptions } from '../core/chat-interface.ts';
import type { BrowserTools } from '../core/client-tools.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import type { Schema } from '../core/schema.ts';
import type { CallStatus } from '../core/wire.ts';
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

/** The same for an agent that is known: its tools' components get the input as `args`, its own components their properties. */
export type UIComponentsOf<Agent extends AgentTypes> = string extends keyof Agent['tools']
  ? UIComponents
  : UIComponents & {
      [Name in keyof Agent['tools']]?: ComponentType<
        Omit<ComponentProps, 'args' | 'output'> & {
          args: Agent['tools'][Name]['input'];
          output?: Agent['tools'][Name]['output'];
        }
      >;
    } & {
      [Name in keyof Agent['components']]?: ComponentType<
        Agent['components'][Name] & Omit<ComponentProps, 'args'> & { args: Agent['components'][Name] }
      >;
    };

export interface IChatOptions<
  Schemas extends Record<string, Schema> = Record<string, Schema>,
  Agent extends AgentTypes = AgentTypes,
> extends Pick<ChatOptions, 'streamingMode' | 'streamingThrottleMs' | 'onEvent' | 'onError'> {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: BrowserTools<Schemas> | undefined;
  uiComponents?: UIComponentsOf<Agent> | undefined;
  overrides?: ConfigOverrides | undefined;
  /** Messages per page of the history: 20 by default. */
  historyPageSize?: number | undefined;
  /** The model that answers, of `useModels`; the agent's own by default. */
  model?: string | undefined;
  /** Called when an answer has ended without a failure. */
  onFinish?: ((message: IMessage<Agent>) => void) | undefined;
}
