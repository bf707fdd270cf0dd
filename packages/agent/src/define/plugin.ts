import type { Server } from '@palaver/service-kit';
import type { Migration, PersonalData } from '@palaver/store';
import type { ZodObject, z } from 'zod';
import type { PublicRoute } from '../auth/auth-hook.ts';
import type { AgentPerson } from '../store/personal-data.ts';
import type { Middleware } from './middleware.ts';
import type { PluginContext } from './plugin-context.ts';
import type { RuntimeContext } from './runtime-context.ts';
import type { Awaitable, SubAgent, Tools } from './tool.ts';

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

/**
 * A plugin; `defineOraclePlugin` creates one.
 *
 * @example
 * ```ts
 * import { createAgent, type OraclePlugin } from '@palaver/agent';
 *
 * export const start = (plugins: OraclePlugin[]) => createAgent({ plugins, env: process.env });
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
  /** Whether to load the plugin if `features` does not name it; without this function it is loaded. */
  autoDetect?(env: Record<string, string | undefined>): boolean;
  /** What to set so that `autoDetect` returns true. */
  autoDetectHint?: string;
  /** Migrations of its tables, run before `setup`, or by `palaver migrate`. */
  migrations?: readonly Migration[];
  /** Users' data in its tables, for `GET /me/export`, `DELETE /me` and `palaver user`. */
  personalData?: PersonalData<AgentPerson>;
  getTools?(ctx: PluginContext): Awaitable<Tools>;
  /** Tools of one request only. */
  getRequestTools?(rt: RuntimeContext): Awaitable<Tools>;
  getSubAgents?(ctx: PluginContext): Awaitable<SubAgent[]>;
  getMiddlewares?(ctx: PluginContext): Awaitable<Middleware[]>;
  /** Keys of `rt.shared` that it owns, with their first value for each request. */
  getSharedState?(): Record<string, () => unknown>;
  /** Its section of the system prompt; called before every step of a turn, so that changes by a tool take effect at once. */
  getPromptSection?(rt: RuntimeContext): Awaitable<string | undefined>;
  getRoutes?(ctx: PluginContext): (server: Server) => Awaitable<void>;
  getAuthExcludedRoutes?(): PublicRoute[];
  setup?(ctx: PluginContext): Awaitable<void>;
  teardown?(): Awaitable<void>;
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

/** A plugin that declares no tables cannot query any. */
type NoTables = Record<never, never>;

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
  Tables = NoTables,
  Values extends SharedValues = SharedValues,
>(plugin: PluginDefinition<Schema, Tables, Values>): OraclePlugin {
  // Its context is made from its own schema, tables and shared state.
  return plugin as OraclePlugin;
}
