import type { Approval, Attachment, Message } from '@palaver/contract';
import type { Task } from '@palaver/contract/internal';
import type { Logger, Server } from '@palaver/service-kit';
import type { AuditLog, Migration, PersonalData, Store } from '@palaver/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZodObject, z } from 'zod';
import type { PublicRoute } from '../auth/auth-hook.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import type { ApprovalAnswer } from '../store/approvals.ts';
import type { MessageStore } from '../store/messages.ts';
import type { AgentPerson } from '../store/personal-data.ts';
import type { OracleIdentity, SessionStore } from '../store/sessions.ts';
import type { AgentRun, OpenMessage, RunQuery, RunSummary, Sender } from './agent-run.ts';
import type { Middleware } from './middleware.ts';
import type { RuntimeContext, ScheduledPrompt } from './runtime-context.ts';
import type { Awaitable, PublicTool, SubAgent, Tools } from './tool.ts';

/** What the agent and its operators read about a plugin. */
export interface PluginManifest {
  title: string;
  /** One sentence the agent reads. */
  summary: string;
  /** When the agent should use it; at least one unless it is silent. */
  whenToUse: string[];
  whenNotToUse?: string[];
  /** What a user might say, and the tool that answers it. */
  examples?: { user: string; tool: string }[];
  tags?: string[];
  category?: string;
  /** `always`: in the prompt, tools bound. `on-demand`: found and loaded by the agent. `silent`: tools bound, not in the prompt. */
  visibility: 'always' | 'on-demand' | 'silent';
  stability: 'stable' | 'beta' | 'experimental';
}

/** A plugin; `defineOraclePlugin` creates one. */
export interface OraclePlugin<Context = PluginContext> {
  /** Kebab-case. */
  name: string;
  version: string;
  manifest: PluginManifest;
  dependsOn?: string[];
  softDependsOn?: string[];
  configSchema?: ZodObject;
  /** Whether to load the plugin if `features` does not name it; without this function it is loaded. */
  autoDetect?(env: Record<string, string | undefined>): boolean;
  /** What to set so that `autoDetect` returns true. */
  autoDetectHint?: string;
  /** Migrations of its tables, run before `setup`, or by `palaver migrate`. */
  migrations?: readonly Migration[];
  /** Users' data in its tables, for `GET /me/export`, `DELETE /me` and `palaver user`. */
  personalData?: PersonalData<AgentPerson>;
  getTools?(ctx: Context): Awaitable<Tools>;
  /** Tools of one request only. */
  getRequestTools?(rt: RuntimeContext): Awaitable<Tools>;
  getSubAgents?(ctx: Context): Awaitable<SubAgent[]>;
  getMiddlewares?(ctx: Context): Awaitable<Middleware[]>;
  getSharedState?(): Record<string, () => unknown>;
  /** Its section of the system prompt; called before every step of a turn, so that changes by a tool take effect at once. */
  getPromptSection?(rt: RuntimeContext): Awaitable<string | undefined>;
  getRoutes?(ctx: Context): (server: Server) => Awaitable<void>;
  getAuthExcludedRoutes?(): PublicRoute[];
  /** Carries out `rt.schedule`; `tasks` of the bundled plugins does. */
  schedule?(wanted: ScheduledPrompt, rt: RuntimeContext): Promise<Task>;
  /** Carries out `ctx.keepFile`; `attachments` of the bundled plugins does. */
  keepFile?(file: SentFile, owner: FileOwner): Promise<Attachment>;
  setup?(ctx: Context): Awaitable<void>;
  teardown?(): Awaitable<void>;
}

/** A file that came inside a message. */
export interface SentFile {
  filename: string;
  /** As the sender says; its content decides. */
  mediaType: string;
  bytes: Uint8Array;
}

/** Whose a file is, and by whom it is counted. */
export type FileOwner = Pick<Sender, 'userDid' | 'client'>;

/** The types of a plugin's own tables, for `tables` of `defineOraclePlugin`. */
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

/** A plugin that declares no tables cannot query any. */
type NoTables = Record<never, never>;

type SharedValues = Record<string, () => unknown>;
type SharedOf<Values extends SharedValues> = { [Key in keyof Values]: ReturnType<Values[Key]> };

/** A plugin as its author writes it, for `defineOraclePlugin`. */
export interface PluginDefinition<Schema extends ZodObject, Tables, Values extends SharedValues = SharedValues>
  extends Omit<
    OraclePlugin<PluginContext<z.output<Schema>, Tables, SharedOf<Values>>>,
    'configSchema' | 'getSharedState'
  > {
  /** The environment variables it reads. */
  configSchema?: Schema;
  /** The types of its own tables, by `tablesOf`. */
  tables?: TableTypes<Tables>;
  /** Keys of `rt.shared` that it owns, with their first value for each request. */
  getSharedState?(): Values;
}

/**
 * Defines a plugin: `configSchema` types `ctx.config`, `tables` `ctx.store`, and `getSharedState` `ctx.shared(rt)`.
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
 *       inputSchema: z.object({}),
 *       execute: () => ({ goats: config.HERD_SIZE }),
 *     }),
 *   }),
 * });
 * ```
 */
export function defineOraclePlugin<
  Schema extends ZodObject = ZodObject,
  Tables = NoTables,
  Values extends SharedValues = SharedValues,
>(plugin: PluginDefinition<Schema, Tables, Values>): OraclePlugin {
  // Its context is made from its own schema, tables and shared state.
  return plugin as OraclePlugin;
}

// biome-ignore lint/suspicious/noExplicitAny: a function that takes any plugin's context does not name its tables.
type AnyTables = any;

/** What a plugin gets once, when the application starts. `Config` is the type of its `configSchema`. */
export interface PluginContext<Config = Record<string, unknown>, Tables = AnyTables, Shared = Record<string, unknown>> {
  config: Config;
  logger: Logger;
  store: Store<Tables>;
  /** Records what an auditor asks about; with a transaction, together with it. */
  audit: Pick<AuditLog<Tables>, 'record' | 'person'>;
  oracle: OracleIdentity;
  models: Models;
  shared(rt: RuntimeContext): Shared;
  llm: { get(role: ModelRole): ReturnType<Models['get']> };
  sessions: Pick<
    SessionStore,
    'create' | 'find' | 'findNamed' | 'findOrCreate' | 'list' | 'metadataOf' | 'nameOf' | 'remove' | 'removeUnused'
  >;
  messages: Pick<MessageStore, 'find' | 'list' | 'last'>;
  /** The DID of a user without a key, such as a user of a chat platform; always the same for the same label. */
  deriveDid(label: string): Promise<string>;
  /** 32 secret bytes of this agent and plugin alone: always the same for the same label, so that they need not be kept. */
  deriveKey(label: string): Buffer;
  /** Sends a message as its user would and resolves with the answer; `UNAVAILABLE` where this process stopped in the middle. */
  send(message: {
    userDid: string;
    sessionId: string;
    text: string;
    requestId: string;
    timezone?: string | undefined;
  }): Promise<Message>;
  /** Begins a run as a stream of events; whatever is refused is refused here with an `AppError`, before the first event. */
  open(message: OpenMessage): Promise<AgentRun>;
  /** A run of this user that was begun before; `RUN_NOT_FOUND` for one of another user. */
  resume(run: { userDid: string; runId: string }): Promise<AgentRun>;
  listRuns(query: RunQuery): Promise<{ runs: RunSummary[]; total: number }>;
  /** Answers an approval of a run of this user; `APPROVAL_ANSWERED` where it has another answer already. */
  answerApproval(answer: ApprovalAnswer): Promise<Approval>;
  /** The tools of all plugins that are marked public, as other agents are shown them. */
  publicTools(): PublicTool[];
  /** The run of a session that is in flight, if this user has one there. */
  liveRun(session: { userDid: string; sessionId: string }): Promise<AgentRun | undefined>;
  /** Keeps a file of a user as if they had uploaded it, to be sent as an attachment; refuses what an upload refuses. */
  keepFile(file: SentFile, owner: FileOwner): Promise<Attachment>;
  /** A user's room with this agent: one for the pair, whatever the session. */
  roomOf(userDid: string): string;
  /** The address by which clients reach this service: `PUBLIC_URL`, else what the request itself was sent to. */
  urlOf(request: FastifyRequest): string;
  /** The client address of a request as limits count it; undefined for one that many users share (`SHARED_CLIENT_CIDRS`). */
  clientKey(request: FastifyRequest): string | undefined;
  /** The caller of a protected route as the sender of a message; sets the `RateLimit-*` headers of its reply. */
  senderOf(request: FastifyRequest, reply: FastifyReply): Sender;
}
