import { CloseStack, type Env, keepOpen, type Logger, type Server } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import type { Signer } from '@palaver/ucan';
import type { Redis } from 'ioredis';
import type { PublicRoute } from '../auth/auth-hook.ts';
import { createCluster } from '../cluster/create-cluster.ts';
import type { AgentConfig } from '../config.ts';
import type { AgentBehaviour } from '../loop/agent-behaviour.ts';
import { createModels, type Models } from '../models/create-models.ts';
import type { OraclePlugin, PluginManifest } from '../plugins/plugin.ts';
import type { Features } from '../plugins/select-plugins.ts';
import type { PluginHost } from '../plugins/start-plugins.ts';
import { migrateAgentTables } from '../store/migrate.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createEdge } from './create-edge.ts';
import { createIdentity } from './create-identity.ts';
import { createTurns } from './create-turns.ts';

export interface AgentParts {
  config: AgentConfig;
  logger: Logger;
  store: Store<AgentDatabase>;
  databaseUrl: string;
  /** Joins this instance with others. */
  redis: Redis | undefined;
  signer: Signer;
  plugins: OraclePlugin[];
  behaviour?: AgentBehaviour;
  features: Features;
  manifestOverrides: Record<string, Partial<PluginManifest>>;
  authExcludedRoutes: PublicRoute[];
  env: Env;
  /** Adds the host application's own routes. */
  addRoutes?: ((server: Server) => void | Promise<void>) | undefined;
}

export interface AgentApp {
  server: Server;
  plugins: PluginHost;
  models: Models;
  /** Accepts nothing new, lets turns finish, ends sockets and plugins; the store stays open. */
  close(): Promise<void>;
}

const turnGraceMs = 8_000;

/** The agent service as a server that is not listening yet. Each part is built from those before it and closed in reverse. */
export async function createAgentApp(parts: AgentParts): Promise<AgentApp> {
  const { config, store, logger } = parts;
  const { model } = parts.behaviour ?? {};
  await using started = new CloseStack();
  await migrateAgentTables(store);
  const auditHead = keepAuditHead(toAnchorPath(config.DATA_DIR, 'agent'), logger);
  const identity = createIdentity({ ...parts, auditHead }, started);
  const cluster = createCluster(parts);
  started.defer(() => cluster.close());
  const models = createModels(config, { model: typeof model === 'function' ? undefined : model });
  const turns = await createTurns({ ...parts, identity, cluster, models, turnGraceMs }, started);
  const server = await createEdge({ ...parts, identity, cluster, turns }, started);
  await turns.start();
  return { server, plugins: turns.plugins, models, close: keepOpen(started) };
}
