// One file for all that plugin authors import; most of its lines are examples, which the documentation shows and tests compile.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Approval, EndedRunStatus, Message, MessageFinish, SendMessage } from '@palaver/contract';
import type { Logger, Server } from '@palaver/service-kit';
import type { AuditLog, Migration, PersonalData, Store } from '@palaver/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZodObject, ZodType, z } from 'zod';
import type { PublicRoute } from '../auth/auth-hook.ts';
import type { StepContent } from '../loop/collect-content.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import type { ApprovalAnswer } from '../store/approvals.ts';
import type { MessageStore } from '../store/messages.ts';
import type { AgentPerson } from '../store/personal-data.ts';
import type { OracleIdentity, SessionStore } from '../store/sessions.ts';
import type { AgentRun, OpenMessage, Sender } from './agent-run.ts';
import type { BlobStore, RuntimeContext } from './runtime-context.ts';

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
 * What the agent and its operators read about a plugin.
 *
 * @example
 * ```ts
 * import type { PluginManifest } from '@palaver/agent';
 *
 * export const manifest: PluginManifest = {
 *   title: 'Herd',
 *   summary: 'Counts goats.',
 *   whenToUse: ['the user asks how many goats there are'],
 *   visibility: 'always',
 *   stability: 'stable',
 * };
 * ```
 */
export interface PluginManifest {
  title: string;
  /** One sentence the agent reads. */
  summary: string;
  /** When the agent should reach for it; at least one unless it is silent. */
  whenToUse: string[];
  whenNotToUse?: string[];
  /** What a user might say, and the tool that answers it. */
  examples?: { user: string; tool: string }[];
  tags?: string[];
  category?: string;
  /** `always`: in the prompt, tools bound. `on-demand`: found and loaded by the agent. `silent`: tools bound, not told. */
  visibility: 'always' | 'on-demand' | 'silent';
  stability: 'stable' | 'beta' | 'experimental';
}

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
 * A function that the model can call. `tool()` makes one whose arguments are typed.
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
  /**
   * Whether the user has to approve a call before it runs: always, or by its arguments. The run waits meanwhile, also across
   * restarts; refused, the model gets the refusal in place of a result. Not for tools of sub-agents.
   */
  needsApproval?: boolean | ((args: unknown, rt: RuntimeContext) => Awaitable<boolean>);
  /** The arguments as clients see them, in events, approvals and stored messages: leave out what is secret. */
  showArgs?(args: Record<string, unknown>): Record<string, unknown>;
  /** It may run twice for one call, because it only reads: a run whose instance dies while it runs can be taken up by another. */
  repeatable?: boolean;
  /** Clients of MCP are shown the tool and may call it, with the rights of their user. */
  public?: boolean;
  /** Which event tells of the call; page tools and actions have their own and send it themselves. */
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
 * An agent of its own that the main one hands a task to: a tool to the one, a conversation of its own to the other.
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
  /** How often it may speak before it has to have an answer. */
  maxSteps?: number;
}

/**
 * What the model is asked in one step.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin } from '@palaver/agent';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getMiddlewares: () => [
 *     {
 *       beforeModel: (call) => ({ ...call, modelId: call.prompt.length > 50 ? 'large' : call.modelId }),
 *     },
 *   ],
 * });
 * ```
 */
export interface ModelCall {
  prompt: LanguageModelV4Prompt;
  tools: LanguageModelV4CallOptions['tools'];
  /** Change it to have another of the deployment's models answer this call. */
  modelId: string;
}

/**
 * What the model said in one step.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin } from '@palaver/agent';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getMiddlewares: () => [
 *     {
 *       afterModel({ usage }, rt) {
 *         rt.logger.info(usage, 'the model answered');
 *       },
 *     },
 *   ],
 * });
 * ```
 */
export interface ModelResult {
  text: string;
  /** `fault`: why the arguments of a call cannot be read, in words for the model. */
  toolCalls: { id: string; name: string; args: unknown; fault?: string }[];
  usage: { inputTokens: number; outputTokens: number };
  /** Why the answer ends before its end; undefined where the model came to one. */
  finish?: MessageFinish | undefined;
  /** What was said in order, as it goes back to the provider, which may have signed it. */
  content?: StepContent;
}

/**
 * A call of a tool, its arguments checked.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin } from '@palaver/agent';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getMiddlewares: () => [
 *     {
 *       wrapToolCall(call, next, rt) {
 *         rt.logger.info({ tool: call.toolName }, 'a tool is called');
 *         return next(call);
 *       },
 *     },
 *   ],
 * });
 * ```
 */
export interface ToolCallRequest {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
}

/**
 * Steps into every turn, in the order plugins are loaded; what wraps is outermost first. A hook that throws is left out and
 * logged, unless it throws on purpose: around the model an `AppError` ends the turn, around a tool a `ToolError` goes to
 * the model in place of the tool's result.
 *
 * @example
 * ```ts
 * import type { Middleware } from '@palaver/agent';
 *
 * export const timing: Middleware = {
 *   async wrapTurn(next, rt) {
 *     const begun = Date.now();
 *     await next();
 *     rt.logger.info({ ms: Date.now() - begun }, 'a turn ended');
 *   },
 * };
 * ```
 */
export interface Middleware {
  /** Stands around everything that model and tools do in a turn; again where another instance takes the run over. */
  wrapTurn?(next: () => Promise<void>, rt: RuntimeContext): Promise<void>;
  /** May change what the model is asked. */
  beforeModel?(call: ModelCall, rt: RuntimeContext): Awaitable<ModelCall | undefined>;
  wrapModelCall?(
    call: ModelCall,
    next: (call: ModelCall) => Promise<ModelResult>,
    rt: RuntimeContext,
  ): Promise<ModelResult>;
  afterModel?(result: ModelResult, rt: RuntimeContext): Awaitable<void>;
  wrapToolCall?(
    call: ToolCallRequest,
    next: (call: ToolCallRequest) => Promise<unknown>,
    rt: RuntimeContext,
  ): Promise<unknown>;
  /**
   * Asked before a message is taken in; throws an `AppError` (such as 402) to refuse it. Whatever else it throws refuses it
   * too: a gate that cannot decide stays shut.
   */
  beforeSend?(send: PendingSend): Awaitable<void>;
  /** Told once of every message that `beforeSend` was asked about, before the reader of the turn hears that it is done. */
  onTurnEnd?(end: TurnEnd): Awaitable<void>;
}

/**
 * How a message ended, and what it cost.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin } from '@palaver/agent';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getMiddlewares: () => [
 *     {
 *       onTurnEnd({ status, usage }) {
 *         console.log(status, usage.outputTokens);
 *       },
 *     },
 *   ],
 * });
 * ```
 */
export interface TurnEnd {
  sendId: string;
  userDid: string;
  sessionId: string;
  /** Undefined where the message was refused before its turn began. */
  runId: string | undefined;
  model: string;
  status: EndedRunStatus | 'refused';
  usage: { inputTokens: number; outputTokens: number };
}

/**
 * A message that has passed authentication and validation and is about to be queued.
 *
 * @example
 * ```ts
 * import { AppError, defineOraclePlugin } from '@palaver/agent';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getMiddlewares: () => [
 *     {
 *       beforeSend({ message }) {
 *         if (message.message.length > 2_000) throw new AppError('PAYLOAD_TOO_LARGE', 'Write less.');
 *       },
 *     },
 *   ],
 * });
 * ```
 */
export interface PendingSend {
  /** Unique, where a request id may be repeated by its client. */
  sendId: string;
  userDid: string;
  sessionId: string;
  requestId: string;
  model: string;
  message: SendMessage;
  /** What limits per client address count it by; undefined where it came by no request, or from a shared address. */
  client?: string | undefined;
  secrets: RuntimeContext['secrets'];
  /** What is put here goes to the model with the message; texts are stored with it for later turns. */
  blobs: BlobStore;
}

// biome-ignore lint/suspicious/noExplicitAny: a plugin that does not name its tables has any.
type AnyTables = any;

/**
 * What a plugin gets once, when the application starts. `Config` is what its `configSchema` says.
 *
 * @example
 * ```ts
 * import type { PluginContext } from '@palaver/agent';
 *
 * export const hello = (ctx: PluginContext) => `${ctx.oracle.name} keeps ${ctx.models.list.models.length} models`;
 * ```
 */
export interface PluginContext<Config = Record<string, unknown>, Tables = AnyTables, Shared = Record<string, unknown>> {
  config: Config;
  logger: Logger;
  store: Store<Tables>;
  /** Records what an auditor asks about; with a transaction, together with it. */
  audit: Pick<AuditLog<Tables>, 'record' | 'person'>;
  oracle: OracleIdentity;
  models: Models;
  /** `rt.shared` with the types of what `getSharedState` gives. */
  shared(rt: RuntimeContext): Shared;
  llm: { get(role: ModelRole): ReturnType<Models['get']> };
  sessions: Pick<SessionStore, 'create' | 'find' | 'findNamed' | 'findOrCreate' | 'list' | 'remove'>;
  messages: Pick<MessageStore, 'list' | 'last'>;
  /** The DID of somebody who has no key here, such as a user of a chat platform: always the same for the same label. */
  deriveDid(label: string): Promise<string>;
  /** 32 secret bytes of this agent and plugin alone: always the same for the same label, so that they need not be kept. */
  deriveKey(label: string): Buffer;
  /**
   * Sends a message into a session as if its user had, and resolves with the answer; rejects with an `AppError` where it is
   * not taken in, and with `UNAVAILABLE` where this process stopped in the middle.
   */
  send(message: {
    userDid: string;
    sessionId: string;
    text: string;
    requestId: string;
    timezone?: string | undefined;
  }): Promise<Message>;
  /**
   * Begins a run and gives it as a stream of events. Everything that is refused (session, model, send limit, credits) is
   * refused here with an `AppError`, before the first event.
   */
  open(message: OpenMessage): Promise<AgentRun>;
  /** A run of this user that was begun before; `RUN_NOT_FOUND` for one of somebody else. */
  resume(run: { userDid: string; runId: string }): Promise<AgentRun>;
  /** Answers an approval of a run of this user; `APPROVAL_ANSWERED` where it has another answer already. */
  answerApproval(answer: ApprovalAnswer): Promise<Approval>;
  /** The tools of all plugins that are marked public, as other agents are shown them. */
  publicTools(): PublicTool[];
  /** The run of a session that is in flight, if this user has one there. */
  liveRun(session: { userDid: string; sessionId: string }): Promise<AgentRun | undefined>;
  /** The caller of a protected route as the sender of a message; sets the `RateLimit-*` headers of its reply. */
  senderOf(request: FastifyRequest, reply: FastifyReply): Sender;
}

/**
 * A plugin as the agent takes it; `defineOraclePlugin` makes one.
 *
 * @example
 * ```ts
 * import { createOracleApp, type OraclePlugin } from '@palaver/agent';
 *
 * export const start = (plugins: OraclePlugin[]) => createOracleApp({ plugins, env: process.env });
 * ```
 */
export interface OraclePlugin {
  /** Kebab-case. */
  name: string;
  version: string;
  manifest: PluginManifest;
  dependsOn?: string[];
  softDependsOn?: string[];
  /** The environment variables it reads. */
  configSchema?: ZodObject;
  /** Whether to load when `features` does not say; a plugin without it is loaded. */
  autoDetect?(env: Record<string, string | undefined>): boolean;
  /** What to set so that `autoDetect` says yes. */
  autoDetectHint?: string;
  /** Its tables, brought up to date before `setup`, or apart from the start by `palaver migrate`. */
  migrations?: readonly Migration[];
  /** What its tables hold of users: for `GET /me/export`, `DELETE /me` and `palaver user`. */
  personalData?: PersonalData<AgentPerson>;
  getTools?(ctx: PluginContext): Awaitable<Tools>;
  /** Tools of one request only. */
  getRequestTools?(rt: RuntimeContext): Awaitable<Tools>;
  getSubAgents?(ctx: PluginContext): Awaitable<SubAgent[]>;
  getMiddlewares?(ctx: PluginContext): Awaitable<Middleware[]>;
  /** Keys of `rt.shared` that it owns, with their first value for each request. */
  getSharedState?(): Record<string, () => unknown>;
  /** What it adds to the system prompt; asked before every step of a turn, so that what a tool has changed is in force at once. */
  getPromptSection?(rt: RuntimeContext): Awaitable<string | undefined>;
  getRoutes?(ctx: PluginContext): (server: Server) => Awaitable<void>;
  getAuthExcludedRoutes?(): PublicRoute[];
  setup?(ctx: PluginContext): Awaitable<void>;
  teardown?(): Awaitable<void>;
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
export interface ToolDefinition<Input extends ZodType> extends Omit<Tool, 'input' | 'execute' | 'needsApproval'> {
  input: Input;
  needsApproval?: boolean | ((args: z.output<Input>, rt: RuntimeContext) => Awaitable<boolean>);
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
  // The arguments have been checked against `input` when these are called.
  const { execute, needsApproval, ...rest } = definition;
  return {
    ...rest,
    execute: (args, rt) => execute(args as z.output<Input>, rt),
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === 'function' ? (args, rt) => needsApproval(args as z.output<Input>, rt) : needsApproval,
    }),
  };
}

/**
 * The types of a plugin's own tables, for `tables` of `defineOraclePlugin`.
 *
 * @example
 * ```ts
 * import { tablesOf, type TableTypes } from '@palaver/agent';
 *
 * export const tables: TableTypes<{ agent_goat: { id: string } }> = tablesOf();
 * ```
 */
export interface TableTypes<Tables> {
  readonly types?: Tables;
}

/**
 * Names the types of a plugin's own tables, so that `ctx.store` has them.
 *
 * @example
 * ```ts
 * import { tablesOf } from '@palaver/agent';
 *
 * export const tables = tablesOf<{ goat: { id: string; name: string } }>();
 * ```
 */
export function tablesOf<Tables>(): TableTypes<Tables> {
  return {};
}

type ContextMembers =
  | 'configSchema'
  | 'getSharedState'
  | 'getTools'
  | 'getSubAgents'
  | 'getMiddlewares'
  | 'getRoutes'
  | 'setup';

/** First values of shared state by key, made for each request. */
type SharedValues = Record<string, () => unknown>;
type SharedOf<Values extends SharedValues> = { [Key in keyof Values]: ReturnType<Values[Key]> };

/**
 * A plugin as its author writes it: `ctx.config` follows from `configSchema`, `ctx.store` from `tables`, `ctx.shared(rt)` from
 * `getSharedState`.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin, tool } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: { title: 'Herd', summary: 'Counts goats.', whenToUse: ['goats'], visibility: 'always', stability: 'stable' },
 *   getSharedState: () => ({ counted: () => 0 }),
 *   getTools: (ctx) => ({
 *     count_goats: tool({
 *       description: 'How many goats.',
 *       input: z.object({}),
 *       execute: (_args, rt) => ({ goats: 12, asked: (ctx.shared(rt).counted += 1) }),
 *     }),
 *   }),
 * });
 * ```
 */
export interface PluginDefinition<Schema extends ZodObject, Tables, Values extends SharedValues = SharedValues>
  extends Omit<OraclePlugin, ContextMembers> {
  /** The environment variables it reads. */
  configSchema?: Schema;
  /** The types of its own tables, by `tablesOf`. */
  tables?: TableTypes<Tables>;
  /** Keys of `rt.shared` that it owns, with their first value for each request. */
  getSharedState?(): Values;
  getTools?(ctx: PluginContext<z.output<Schema>, Tables, SharedOf<Values>>): Awaitable<Tools>;
  getSubAgents?(ctx: PluginContext<z.output<Schema>, Tables, SharedOf<Values>>): Awaitable<SubAgent[]>;
  getMiddlewares?(ctx: PluginContext<z.output<Schema>, Tables, SharedOf<Values>>): Awaitable<Middleware[]>;
  getRoutes?(ctx: PluginContext<z.output<Schema>, Tables, SharedOf<Values>>): (server: Server) => Awaitable<void>;
  setup?(ctx: PluginContext<z.output<Schema>, Tables, SharedOf<Values>>): Awaitable<void>;
}

/**
 * Defines a plugin; `ctx.config` is typed by its `configSchema`, `ctx.store` by its `tables`, `ctx.shared(rt)` by its
 * `getSharedState`.
 *
 * @example
 * ```ts
 * import { defineOraclePlugin, tool } from '@palaver/agent';
 * import { z } from 'zod';
 *
 * export const herd = defineOraclePlugin({
 *   name: 'herd',
 *   version: '1.0.0',
 *   manifest: {
 *     title: 'Herd',
 *     summary: 'Counts goats.',
 *     whenToUse: ['the user asks how many goats there are'],
 *     visibility: 'always',
 *     stability: 'stable',
 *   },
 *   configSchema: z.object({ HERD_SIZE: z.coerce.number() }),
 *   getTools: ({ config }) => ({
 *     count_goats: tool({
 *       description: 'How many goats there are.',
 *       input: z.object({}),
 *       execute: () => ({ goats: config.HERD_SIZE }),
 *     }),
 *   }),
 * });
 * ```
 */
export function defineOraclePlugin<
  Schema extends ZodObject = ZodObject,
  Tables = AnyTables,
  Values extends SharedValues = SharedValues,
>(plugin: PluginDefinition<Schema, Tables, Values>): OraclePlugin {
  // Its context is made from its own schema, tables and shared state.
  return plugin as OraclePlugin;
}
