import type { FlexibleSchema, InferSchema, ModelMessage } from '@ai-sdk/provider-utils';
import type { Capability } from '@palaver/ucan';
import type { RuntimeContext } from './runtime-context.ts';

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** A JSON Schema object, as declared by pages and MCP servers. */
export type JsonSchema = Record<string, unknown>;

/** A schema that another copy of the AI SDK has made. */
type SdkSchema<Value> = { readonly _type: Value; readonly jsonSchema: unknown };

/** A schema: zod (3.25 or 4), a Standard Schema with a JSON Schema, `jsonSchema()` of the AI SDK, or JSON Schema. */
export type ValueSchema = FlexibleSchema | SdkSchema<unknown> | (() => SdkSchema<unknown>) | JsonSchema;

/** The values that a schema describes. */
export type ValueOf<Schema> = Schema extends FlexibleSchema
  ? InferSchema<Schema>
  : Schema extends SdkSchema<infer Value> | (() => SdkSchema<infer Value>)
    ? Value
    : Record<string, unknown>;

/** What a tool gets beside its arguments; tools of the AI SDK find in it what they take. */
export interface ToolContext extends RuntimeContext {
  toolCallId: string;
  messages: ModelMessage[];
  // biome-ignore lint/suspicious/noExplicitAny: none here; a tool of the AI SDK may declare any.
  context: any;
}

/** A function that the model can call, made by `tool()`; tools of the AI SDK are taken unchanged. */
export interface Tool {
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK passes the context of the tool.
  description?: string | ((options: any) => string);
  /** The arguments, an object. */
  inputSchema: ValueSchema;
  /** What it returns, for types and for clients that are shown it. */
  outputSchema?: ValueSchema;
  /** What it returns (JSON) goes to the model. Clients are shown each value of a generator; the last is the result. */
  execute(args: unknown, rt: ToolContext): unknown;
  timeoutMs?: number;
  /** Whether the user has to approve a call: always, or by its arguments. The run waits meanwhile. */
  needsApproval?: boolean | Rule<boolean>;
  /** What the tool does in the user's name: without a delegation for it the run waits. */
  needsDelegation?: Rule<Capability | undefined>;
  /** What the user signs for a call: the run waits for it, and the tool finds it in `rt.invocation`. */
  needsInvocation?: (rt: RuntimeContext) => { audience: string; capability: Capability } | undefined;
  /** The arguments as clients see them, in events, approvals and stored messages: leave out what is secret. */
  showArgs?(args: Record<string, unknown>): Record<string, unknown>;
  /** It may run twice for one call, because it only reads: a run whose instance dies while it runs can be continued by another. */
  repeatable?: boolean;
  /** Clients of MCP are shown the tool and may call it, with the rights of their user. */
  public?: boolean;
  /** The event that reports the call; client tools and actions have their own and send it themselves. */
  event?: 'tool_call' | 'none';
}

/** As a method, so that a tool with typed arguments is a `Tool`. */
type Rule<Result> = { rule(args: unknown, rt: ToolContext): Awaitable<Result> }['rule'];

/** Tools by the names under which the model calls them. */
export type Tools = Record<string, Tool>;

/** A tool as clients of other protocols are shown it. */
export interface PublicTool {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  inputSchema: object;
}

/** A separate agent to which the main agent gives a task: a tool for the main agent, with its own conversation. */
export interface SubAgent {
  name: string;
  description: string;
  instructions: string;
  tools?: Tools;
  /** How many steps it has before it must answer. */
  maxSteps?: number;
}

/** A tool that knows the types of its arguments, its result, and what a model sends as its arguments. */
export interface TypedTool<Args, Result, Input = Args> extends Tool {
  /** For types only; never set. */
  readonly types?: { args: Args; result: Result; input: Input };
}

/** What models send where a schema describes the values; zod may fill in defaults. */
export type InputOf<Schema> = Schema extends { '~standard': { readonly types?: { input: infer Input } | undefined } }
  ? Input
  : ValueOf<Schema>;

/** A value as clients get it: dates are texts. */
type Sent<Value> = Value extends { toJSON(...args: never[]): infer Json }
  ? Sent<Json>
  : Value extends object
    ? { [Key in keyof Value]: Sent<Value[Key]> }
    : Value;

type ResultOf<Returned> = Returned extends AsyncIterable<infer Result> ? Result : Awaited<Returned>;

/** The calls of a tool as clients see them; `showArgs` may leave out fields of `input`. */
export type ToolTypes<OneTool> = 'types' extends keyof OneTool
  ? OneTool extends TypedTool<unknown, infer Result, infer Input>
    ? { input: Sent<Input>; output: Sent<Result> }
    : never
  : OneTool extends { inputSchema: infer Schema; execute: (...args: never[]) => infer Returned }
    ? { input: Sent<InputOf<Schema>>; output: Sent<ResultOf<Returned>> }
    : never;

/** A tool as `tool()` takes it: its functions get the arguments that its schema describes. */
export interface ToolDefinition<Schema extends ValueSchema, Result>
  extends Omit<Tool, 'inputSchema' | 'outputSchema' | 'execute' | 'needsApproval' | 'needsDelegation'> {
  inputSchema: Schema;
  /** The result, where its type does not follow from `execute`. */
  outputSchema?: FlexibleSchema<Result> | JsonSchema;
  needsApproval?: boolean | ((args: ValueOf<Schema>, rt: ToolContext) => Awaitable<boolean>);
  needsDelegation?: (args: ValueOf<Schema>, rt: ToolContext) => Awaitable<Capability | undefined>;
  execute: (args: ValueOf<Schema>, rt: ToolContext) => Awaitable<Result> | AsyncIterable<Result>;
}

/**
 * A tool whose arguments follow from its schema.
 *
 * @example
 * ```ts
 * import { tool } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const weather = tool({
 *   description: 'The weather of a place.',
 *   inputSchema: z.object({ place: z.string() }),
 *   execute: ({ place }) => ({ place, sky: 'clear' }),
 * });
 * ```
 */
export function tool<Schema extends ValueSchema, Result>(
  definition: ToolDefinition<Schema, Result>,
): TypedTool<ValueOf<Schema>, Result, InputOf<Schema>> {
  // Its functions are called with arguments that were checked against `inputSchema`.
  return definition as unknown as TypedTool<ValueOf<Schema>, Result, InputOf<Schema>>;
}
