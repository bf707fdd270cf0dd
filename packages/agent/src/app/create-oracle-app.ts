import { join } from 'node:path';
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
  StartError,
} from '@palaver/service-kit';
import {
  type BaseConfig,
  loadOrCreateSecretFile,
  openRedis,
  prepareDataDir,
  toDatabaseUrl,
  toStoreOptions,
} from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { claimSqliteFile, engineOf } from '@palaver/store/internal';
import { createSigner, parseSigner, type Signer } from '@palaver/ucan';
import type { PublicRoute } from '../auth/auth-hook.ts';
import { agentConfigSchema } from '../config.ts';
import { createStandardDoors } from '../doors/create-standard-doors.ts';
import type { AgentBehaviour } from '../loop/agent-behaviour.ts';
import { createBundledPlugins } from '../plugins/bundled/create-bundled-plugins.ts';
import type { OraclePlugin, PluginManifest } from '../plugins/plugin.ts';
import type { Features, PluginStatus } from '../plugins/select-plugins.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createAgentApp } from './create-agent-app.ts';

/**
 * The parts of an agent.
 *
 * @example
 * ```ts
 * import { createOracleApp, type OracleAppOptions } from '@palaver/agent';
 *
 * const options: OracleAppOptions = { features: { memory: false }, instructions: 'You advise farmers.' };
 * await createOracleApp(options);
 * ```
 */
export interface OracleAppOptions extends AgentBehaviour {
  /** The agent's name; `ORACLE_NAME` when not given. */
  config?: { name?: string };
  /** Plugins beside the bundled ones. */
  plugins?: OraclePlugin[];
  /** In place of `createBundledPlugins()` and the standard doors; `[]` for none. */
  bundledPlugins?: OraclePlugin[];
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

/**
 * An agent that is ready to listen.
 *
 * @example
 * ```ts
 * import { createOracleApp, type OracleApp } from '@palaver/agent';
 *
 * const app: OracleApp = await createOracleApp();
 * await app.inject('/health');
 * await app.close();
 * ```
 */
export interface OracleApp {
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
}

/**
 * An agent, ready to listen: configuration from `env`, its database opened, its plugins loaded.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent';
 *
 * const app = await createOracleApp({ config: { name: 'Farm helper' }, env: process.env });
 * console.log(await app.listen());
 * ```
 */
export async function createOracleApp(options: OracleAppOptions = {}): Promise<OracleApp> {
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
  const app = await createAgentApp({
    config,
    logger,
    store,
    databaseUrl,
    redis,
    signer,
    env,
    plugins: [
      ...(options.bundledPlugins ?? [...createBundledPlugins(), ...createStandardDoors()]),
      ...(options.plugins ?? []),
    ],
    behaviour: options,
    features: options.features ?? {},
    manifestOverrides: options.manifestOverrides ?? {},
    authExcludedRoutes: options.authExcludedRoutes ?? [],
    addRoutes: options.hooks?.addRoutes,
  });
  started.defer(() => options.hooks?.onClose?.());
  started.defer(() => app.close());
  started.defer(() => app.server.lifecycle.drain(config.DRAIN_DELAY_MS));
  return {
    did: config.ORACLE_ENTITY_DID ?? config.ORACLE_DID ?? signer.did(),
    identity: {
      name: config.ORACLE_NAME,
      did: config.ORACLE_DID ?? signer.did(),
      entityDid: config.ORACLE_ENTITY_DID,
      model: app.models.list.default,
    },
    drainDelayMs: config.DRAIN_DELAY_MS,
    listen: () => listen(app.server, { host: config.HOST, port: config.PORT, portName: configOptions.names?.PORT }),
    close: keepOpen(started),
    inject: app.server.inject.bind(app.server) as Server['inject'],
    plugins: { status: () => app.plugins.status() },
  };
}

/** The agent's own key: given, or made at the first start and kept in the data folder. */
export async function loadSigner(
  config: Pick<BaseConfig, 'DATA_DIR'> & { ORACLE_PRIVATE_KEY?: string | undefined },
  logger: Logger,
): Promise<Signer> {
  let secret = config.ORACLE_PRIVATE_KEY;
  if (secret === undefined) {
    const path = join(prepareDataDir(config.DATA_DIR), 'agent.key');
    const fresh = (await createSigner()).toSecret();
    const kept = loadOrCreateSecretFile(path, () => fresh);
    if (kept.created) logger.info(`made a key for the agent in ${path}`);
    secret = kept.secret;
  }
  const parsed = await parseSigner(secret);
  if (!parsed.ok) throw new StartError(`ORACLE_PRIVATE_KEY: ${parsed.error.message}.`);
  return parsed.ok;
}
