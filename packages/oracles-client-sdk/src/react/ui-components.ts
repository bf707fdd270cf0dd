import type { ComponentType } from 'react';
import type { Arguments, CallStatus } from '../core/wire.ts';

/** What every component of `uiComponents` gets. */
interface ComponentProps {
  id: string;
  name: string;
  args: Arguments;
  status: CallStatus;
  /** While a call runs. */
  isLoading?: boolean | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what a tool gives back is the tool's.
  output?: any;
  error?: string | undefined;
  /** The user refused the call, or did not answer in time: nothing has failed. */
  isRefused?: boolean | undefined;
}

/**
 * What a component of `uiComponents` gets. A component of the agent also gets each of its `args` as a property; a tool
 * call has `toolName` and `eventId`. With the type of an event, that event's fields.
 */
export type UIComponentProps<Event extends { payload: unknown } | undefined = undefined> = ComponentProps &
  (Event extends { payload: infer Payload } ? Omit<Payload, keyof ComponentProps> : unknown);

/**
 * Components by the name the agent calls them by; a tool's name shows calls of that tool, `ToolCall` those of every other
 * tool, `Error` why an answer failed.
 */
// biome-ignore lint/suspicious/noExplicitAny: each component knows its own properties.
export type UIComponents = Record<string, ComponentType<any>>;
