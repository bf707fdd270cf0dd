import type { Capability } from '@palaver/ucan';
import type { ZodType, z } from 'zod';
import type { RuntimeContext } from './runtime-context.ts';

/**
 * A value, or a promise of it.
 *
 * @example
 * ```ts
 * import type { Awaitable } from '@palaver/agent';
 *
 * export const read = async (value: Awaitable<number>) => (await value) + 1;
 * ```
 */
export type Awaitable<T> = T | Promise<T>;

/**
 * A JSON Schema object, as declared by pages and MCP servers.
 *
 * @example
 * ```ts
 * import type { JsonSchema } from '@palaver/agent';
 *
 * export const input: JsonSchema = { type: 'object', properties: { place: { type: 'string' } } };
 * ```
 */
export type JsonSchema = Record<string, unknown>;

/**
 * A function that the model can call. `tool()` creates one with typed arguments.
 *
 * @example
 * ```ts
 * import { type Tool, tool } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const now: Tool = tool({
 *   description: 'The time.',
 *   input: z.object({}),
 *   repeatable: true,
 *   execute: () => new Date().toISOString(),
 * });
 * ```
 */
export interface Tool {
  description: string;
  /** The arguments: a zod object, checked and typed, or a JSON Schema. */
  input: ZodType | JsonSchema;
  /** Runs the tool; what it returns (JSON) goes to the model. Throw a `ToolError` to tell the model why it failed. */
  execute(args: unknown, rt: RuntimeContext): Awaitable<unknown>;
  timeoutMs?: number;
  /** Whether the user has to approve a call: always, or by its arguments. The run waits meanwhile; not for tools of sub-agents. */
  needsApproval?: boolean | ((args: unknown, rt: RuntimeContext) => Awaitable<boolean>);
  /** What the tool does in the user's name: without a delegation for it the run waits. Only tools of the main agent can wait. */
  needsDelegation?: (args: unknown, rt: RuntimeContext) => Awaitable<Capability | undefined>;
  /** What the user signs for a call: the run waits for it, and the tool finds it in `rt.invocation`. Not for tools of sub-agents. */
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

/**
 * Tools by the names under which the model calls them.
 *
 * @example
 * ```ts
 * import { type Tools, tool } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const tools: Tools = {
 *   count_goats: tool({ description: 'How many goats.', input: z.object({}), execute: () => ({ goats: 12 }) }),
 * };
 * ```
 */
export type Tools = Record<string, Tool>;

/**
 * A tool as clients of other protocols are shown it.
 *
 * @example
 * ```ts
 * import type { PluginContext, PublicTool } from '@palaver/agent';
 *
 * export const namesOf = (ctx: PluginContext) => ctx.publicTools().map(({ name }: PublicTool) => name);
 * ```
 */
export interface PublicTool {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  inputSchema: object;
}

/**
 * A separate agent to which the main agent gives a task: a tool for the main agent, with its own conversation.
 *
 * @example
 * ```ts
 * import type { SubAgent } from '@palaver/agent';
 *
 * export const librarian: SubAgent = {
 *   name: 'librarian',
 *   description: 'Finds books.',
 *   instructions: 'You are a librarian. Name the shelf.',
 * };
 * ```
 */
export interface SubAgent {
  /** The name of the tool. */
  name: string;
  description: string;
  instructions: string;
  tools?: Tools;
  /** How many steps it has before it must answer. */
  maxSteps?: number;
}

/**
 * A tool whose arguments are typed by its schema.
 *
 * @example
 * ```ts
 * import { tool, type ToolDefinition } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * const input = z.object({ amount: z.number() });
 * const pay: ToolDefinition<typeof input> = {
 *   description: 'Pays.',
 *   input,
 *   needsApproval: ({ amount }) => amount > 10,
 *   execute: ({ amount }) => ({ paid: amount }),
 * };
 * export const tools = { pay: tool(pay) };
 * ```
 */
export interface ToolDefinition<Input extends ZodType>
  extends Omit<Tool, 'input' | 'execute' | 'needsApproval' | 'needsDelegation'> {
  input: Input;
  needsApproval?: boolean | ((args: z.output<Input>, rt: RuntimeContext) => Awaitable<boolean>);
  needsDelegation?: (args: z.output<Input>, rt: RuntimeContext) => Awaitable<Capability | undefined>;
  execute: (args: z.output<Input>, rt: RuntimeContext) => Awaitable<unknown>;
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
 *   input: z.object({ place: z.string() }),
 *   execute: ({ place }) => ({ place, sky: 'clear' }),
 * });
 * ```
 */
export function tool<Input extends ZodType>(definition: ToolDefinition<Input>): Tool {
  // The arguments have been checked against `input` when its functions are called.
  return definition as Tool;
}
