import type { MessageComponent, MessagePart, ToolCall } from './wire.ts';

/** What a page knows of its agent: the form of `InferAgent<typeof app>` of `@palaver/agent`. */
export interface AgentTypes {
  tools: Record<string, { input: unknown; output: unknown }>;
  components: object;
}

/** Any text but the names of the agent's own: beside `string`, comparing a name would not narrow a call to its tool. */
declare enum OtherName {
  any = 'any other name',
}

type Untyped<Agent extends AgentTypes> = string extends keyof Agent['tools'] ? true : false;
type Values<Type> = Type[keyof Type];

type OwnCalls<Tools extends AgentTypes['tools']> = Values<{
  [Name in keyof Tools]: Omit<ToolCall, 'name' | 'args' | 'output'> & {
    name: Name;
    args: Tools[Name]['input'];
    /** Set once the call is done; of a generator, what it has yielded last. */
    output?: Tools[Name]['output'];
  };
}>;

export type ToolCallOf<Agent extends AgentTypes> =
  Untyped<Agent> extends true ? ToolCall : OwnCalls<Agent['tools']> | (Omit<ToolCall, 'name'> & { name: OtherName });

export type ComponentOf<Agent extends AgentTypes> =
  Untyped<Agent> extends true
    ? MessageComponent
    :
        | Values<{
            [Name in keyof Agent['components']]: Omit<MessageComponent, 'componentName' | 'args'> & {
              componentName: Name;
              args: Agent['components'][Name];
            };
          }>
        | (Omit<MessageComponent, 'componentName'> & { componentName: OtherName });

export type PartOf<Agent extends AgentTypes> =
  Untyped<Agent> extends true
    ? MessagePart
    :
        | Exclude<MessagePart, { type: 'tool_call' | 'action_call' | 'component' }>
        | (ToolCall & { type: 'action_call' })
        | (ToolCallOf<Agent> & { type: 'tool_call' })
        | (ComponentOf<Agent> & { type: 'component' });
