import {
  CloseStack,
  type ConfigOptions,
  createLogger,
  type Env,
  keepOpen,
  type Logger,
  listen,
  loadConfig,
  type Server,
} from '@palaver/service-kit';
import { openRedis, toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { claimSqliteFile, engineOf, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import type { PublicRoute } from '../auth/auth-hook.ts';
import { createCluster } from '../cluster/create-cluster.ts';
import { agentConfigSchema } from '../config.ts';
import type { OraclePlugin, PluginManifest } from '../define/plugin.ts';
import type { Features, PluginStatus } from '../define/select-plugins.ts';
import type { Tools, ToolTypes } from '../define/tool.ts';
import { createModels } from '../models/create-models.ts';
import { migrateAgentTables } from '../store/migrate.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { AgentBehaviour } from '../turn/behaviour.ts';
import { type AgentCalls, createCalls } from './calls.ts';
import { createEdge } from './create-edge.ts';
import { createIdentity, loadSigner } from './create-identity.ts';
import { createTurns } from './create-turns.ts';

const turnGraceMs = 8_000;

/** The parts of an agent. */
export interface OracleAppOptions<OwnTools extends Tools = Tools> extends AgentBehaviour {
  /** The agent's name; `ORACLE_NAME` when not given. */
  config?: { name?: string };
  /** The agent's own tools. What several agents share is a plugin. */
  tools?: OwnTools;
  /** Beside the bundled plugins under `createOracleApp`; all there are under `createAgent`. */
  plugins?: OraclePlugin[];
  /** By plugin name: `false` never loads, `true` forces loading, `'auto'` (or nothing) asks the plugin. */
  features?: Features;
  manifestOverrides?: Record<string, Partial<PluginManifest>>;
  /** Routes that ask for no credentials, beside those of plugins. */
  authExcludedRoutes?: PublicRoute[];
  /** The environment, usually `process.env`. */
  env?: Env;
  hooks?: {
    /** Adds the application's own routes; they are protected and appear in `/docs`. */
    addRoutes?(server: Server): void | Promise<void>;
    onClose?(): void | Promise<void>;
  };
  logger?: Logger;
  configOptions?: ConfigOptions;
}

/** An agent that is ready to listen. */
export interface OracleApp<OwnTools extends Tools = Tools> extends AgentCalls {
  /** The DID that users see. */
  did: string;
  /** Its DIDs: `did` is its key's (`ORACLE_DID`), `entityDid` its entity on the protocol. */
  identity: { name: string; did: string; entityDid: string | undefined; model: string };
  /** How long `close` keeps serving first (`DRAIN_DELAY_MS`). */
  drainDelayMs: number;
  listen(): Promise<string>;
  close(): Promise<void>;
  /** Answers a request without a network, for tests. */
  inject: Server['inject'];
  plugins: { status(): PluginStatus[] };
  /** For types only; never set. */
  readonly types?: { tools: OwnTools };
}

/** What a page knows of an agent, for `useChat`: the types of its tools and of the components that they render. */
export interface InferAgent<App extends OracleApp, Components extends object = Record<never, never>> {
  tools: { [Name in keyof ToolsOf<App>]: ToolTypes<ToolsOf<App>[Name]> };
  components: Components;
}

type ToolsOf<App extends OracleApp> = NonNullable<App['types']>['tools'];

/**
 * An agent of the given plugins, configured from `env` and ready to listen. `createOracleApp` adds the bundled ones.
 *
 * @example
 * ```ts
 * import { createAgent } from '@palaver/agent';
 *
 * const app = await createAgent({ instructions: 'You advise farmers.', env: process.env });
 * console.log(await app.listen());
 * ```
 */
export async function createAgent<OwnTools extends Tools = Tools>(
  options: OracleAppOptions<OwnTools> = {},
): Promise<OracleApp<OwnTools>> {
  const { configOptions = {} } = options;
  const env = { ...options.env, ...(options.config?.name && { ORACLE_NAME: options.config.name }) };
  const config = loadConfig(agentConfigSchema, env, configOptions);
  const logger = options.logger ?? createLogger({ name: 'agent', level: config.LOG_LEVEL });
  const signer = await loadSigner(config, logger);
  await using started = new CloseStack();
  const databaseUrl = toDatabaseUrl(config, 'agent');
  // An agent on SQLite takes over every run that is not its own.
  if (engineOf(databaseUrl) === 'sqlite') started.defer(claimSqliteFile(databaseUrl));
  const store = await openStore<AgentDatabase>(databaseUrl, toStoreOptions(config));
  started.defer(() => store.close());
  const redis = config.REDIS_URL ? await openRedis(config.REDIS_URL, logger) : undefined;
  started.defer(() => redis?.disconnect());
  await migrateAgentTables(store);
  // Each part is built from those before it and closed in reverse; the store stays open until the end.
  await using running = new CloseStack();
  const auditHead = keepAuditHead(toAnchorPath(config.DATA_DIR, 'agent'), logger);
  const identity = createIdentity({ config, store, signer, auditHead }, running);
  const cluster = createCluster({ store, databaseUrl, redis, logger });
  running.defer(() => cluster.close());
  const models = createModels(config, { model: typeof options.model === 'function' ? undefined : options.model });
  const parts = { config, logger, store, redis, identity, cluster };
  const turns = await createTurns(
    {
      ...parts,
      models,
      env,
      plugins: [...(options.plugins ?? []), ...toOwnPlugin(options.tools)],
      behaviour: options,
      features: options.features ?? {},
      manifestOverrides: options.manifestOverrides ?? {},
      turnGraceMs,
    },
    running,
  );
  const { authExcludedRoutes = [], hooks = {} } = options;
  const server = await createEdge({ ...parts, turns, authExcludedRoutes, addRoutes: hooks.addRoutes }, running);
  await turns.start();
  started.defer(() => hooks.onClose?.());
  started.defer(keepOpen(running));
  started.defer(() => server.lifecycle.drain(config.DRAIN_DELAY_MS));
  const { name, did, keyDid } = identity.oracle;
  return {
    did,
    identity: { name, did: keyDid, entityDid: config.ORACLE_ENTITY_DID, model: models.list.default },
    drainDelayMs: config.DRAIN_DELAY_MS,
    listen: () => listen(server, { host: config.HOST, port: config.PORT, portName: configOptions.names?.PORT }),
    close: keepOpen(started),
    inject: server.inject.bind(server) as Server['inject'],
    plugins: { status: () => turns.plugins.status() },
    ...createCalls({ ...turns, oracle: identity.oracle }),
  };
}

export function toOwnPlugin(tools: Tools | undefined): OraclePlugin[] {
  if (!tools) return [];
  const texts = { title: 'App', summary: 'The tools of this agent.', whenToUse: [] };
  const manifest: PluginManifest = { ...texts, visibility: 'silent', stability: 'stable' };
  return [{ name: 'app', version: '1.0.0', manifest, getTools: () => tools }];
}
