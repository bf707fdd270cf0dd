import { randomUUID } from 'node:crypto';
import { AppError, agentLimits } from '@palaver/contract';
import {
  addAuditRoute,
  addOperatorAudit,
  addRateLimit,
  addStoreMetrics,
  CloseStack,
  closeServer,
  createProbes,
  createServer,
  type Env,
  keepOpen,
  type Logger,
  type Server,
  toDataFolder,
  toEdge,
} from '@palaver/service-kit';
import { createAuditLog, keepAuditHead, type Store, timeReaderOf, toAnchorPath } from '@palaver/store';
import { createDidResolver, createVerifier, deriveSigner, type Signer } from '@palaver/ucan';
import type { Redis } from 'ioredis';
import { Counter } from 'prom-client';
import { addAuth, createRouteMatcher, type PublicRoute } from '../auth/auth-hook.ts';
import { createClientKey } from '../auth/client-key.ts';
import { deriveKey } from '../auth/derive-key.ts';
import { createSeal } from '../auth/seal.ts';
import { createCluster } from '../cluster/create-cluster.ts';
import type { AgentConfig } from '../config.ts';
import { addMessageRoutes } from '../doors/native/messages.ts';
import { addRunRoutes } from '../doors/native/runs.ts';
import { createSocketTransport } from '../doors/native/socket.ts';
import { createBrowserCalls } from '../loop/browser-calls.ts';
import { createExecutor } from '../loop/create-executor.ts';
import { createRunMetrics } from '../metrics.ts';
import { createModels, type Models } from '../models/create-models.ts';
import type { OraclePlugin, PluginManifest } from '../plugins/plugin.ts';
import { createBlobStore } from '../plugins/runtime-context.ts';
import type { Features } from '../plugins/select-plugins.ts';
import { type PluginHost, startPlugins } from '../plugins/start-plugins.ts';
import { addDelegationRoutes } from '../routes/delegation.ts';
import { addSessionRoutes } from '../routes/sessions.ts';
import { addStatusRoute } from '../routes/status.ts';
import { addUserDataRoutes } from '../routes/user-data.ts';
import { createRunFollower } from '../run/follow-runs.ts';
import { createRunReader } from '../run/open-run.ts';
import { parseStoredInput } from '../run/run-input.ts';
import { createRunUpkeep } from '../run/run-upkeep.ts';
import { RunCancelled } from '../run/stream-error.ts';
import { createTurnHub } from '../run/turn-hub.ts';
import { createDelegationStore } from '../store/delegations.ts';
import { createInterruptedRuns } from '../store/interrupted-runs.ts';
import { createMessageStore } from '../store/messages.ts';
import { migrateAgentTables } from '../store/migrate.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore, type OracleIdentity } from '../store/sessions.ts';
import { createSummaryStore } from '../store/summaries.ts';
import { createUserData } from '../user-data.ts';
import { addDocs } from './docs.ts';

export interface AgentParts {
  config: AgentConfig;
  logger: Logger;
  store: Store<AgentDatabase>;
  databaseUrl: string;
  /** Joins this instance with others. */
  redis: Redis | undefined;
  signer: Signer;
  plugins: OraclePlugin[];
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
  /** Takes nothing new in, lets turns finish, ends sockets and plugins; the store stays open. */
  close(): Promise<void>;
}

const ownPublicRoutes = [
  '/',
  '/health',
  '/ready',
  '/docs',
  '/docs/*',
  '/metrics',
  '/metrics/errors',
  '/audit',
  '/users/:did',
  '/users/:did/export',
];
const turnGraceMs = 8_000;
const hourMs = 3_600_000;

/** The agent service as a server that is not listening yet. */
export async function createAgentApp(parts: AgentParts): Promise<AgentApp> {
  const { config, logger, store, signer, redis } = parts;
  await using started = new CloseStack();
  await migrateAgentTables(store);
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: deriveKey(signer.toSecret(), 'audit person'),
    retentionDays: config.RETENTION_AUDIT_DAYS,
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'agent'), logger),
  });
  started.defer(() => audit.close());
  const oracle = toOracleIdentity(config, signer);
  const sessions = createSessionStore(store, oracle, { perUser: config.SESSIONS_PER_USER });
  const messages = createMessageStore(store);
  const runs = createRunStore(store);
  const delegations = createDelegationStore(store, { agentDid: oracle.did, seal: createSeal(signer.toSecret()) });
  const interrupted = createInterruptedRuns(store);
  const cluster = createCluster(parts);
  const { broadcast, instance } = cluster;
  started.defer(() => cluster.close());

  const verifier = createVerifier({
    audiences: [...new Set([oracle.did, oracle.keyDid])],
    maxTtlSeconds: config.UCAN_AUTH_MAX_TTL_SECONDS,
    delegationMaxTtlSeconds: config.UCAN_DELEGATION_MAX_TTL_SECONDS,
    resolveDid: createDidResolver({
      ...(config.GATEWAY_URL && { gatewayUrl: config.GATEWAY_URL }),
      dnsServers: config.DNS_SERVERS,
      lookupsPerMinute: config.UCAN_LOOKUPS_PER_MINUTE,
    }),
    isRevoked: delegations.isRevoked,
    wasSentDownstream: delegations.wasSentDownstream,
  });
  const auth = { verifier, allowDelegation: config.UCAN_ALLOW_DELEGATION_AUTH };
  const server = await createServer({
    name: 'agent',
    logger,
    ...toEdge(config),
    bodyLimit: config.BODY_LIMIT_BYTES,
    probes: createProbes({
      redis,
      withoutRedis: 'Sockets of other instances are not reached, and the limit of sends is not enforced.',
      folder: toDataFolder(config),
      readTime: timeReaderOf(store),
    }),
    cors: { origins: config.CORS_ORIGIN, extraHeaders: ['idempotency-key'], exposedHeaders: ['X-Run-Id'] },
    async health() {
      const healthy = await store.ping();
      return { healthy, body: { status: healthy ? 'ok' : 'degraded', timestamp: new Date().toISOString() } };
    },
  });

  const models = createModels(config);
  const sockets = createSocketTransport({
    ...auth,
    server,
    origins: config.CORS_ORIGIN,
    trustsProxy: config.TRUST_PROXY_ENABLED,
    redis,
    registry: cluster.sockets,
    sessions,
    logger,
    onResult: (result) => browserCalls.settle(result),
    onIgnored: () => ignoredResults.inc(),
  });
  started.defer(() => sockets.close());
  const ignoredResults = new Counter({
    name: 'agent_ignored_client_results_total',
    help: 'Results of pages that came late, twice or from a stranger.',
    registers: [server.metrics],
  });
  const browserCalls = createBrowserCalls({
    timeoutMs: config.BROWSER_TOOL_TIMEOUT_MS,
    deliver: sockets.deliver,
  });
  const metrics = createRunMetrics(server.metrics, { cluster, countRuns: () => hub.size() });
  const ready = Promise.withResolvers<void>();
  const plugins = await startPlugins({
    ...parts,
    createContext: (plugin, pluginConfig) => ({
      config: pluginConfig,
      logger: logger.child({ plugin: plugin.name }),
      store,
      audit,
      oracle,
      models,
      llm: { get: models.get },
      sessions,
      deriveDid: async (label) => (await deriveSigner({ secret: Buffer.from(signer.toSecret()), label })).did(),
      deriveKey: (label) => deriveKey(signer.toSecret(), `plugin ${plugin.name} ${label}`),
      async send({ userDid, sessionId, text, requestId, timezone }) {
        // A plugin may have something to send before everything has started.
        await ready.promise;
        const session = await sessions.find(userDid, sessionId);
        if (!session) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
        const delegation = (await delegations.find(userDid))?.token;
        const body = { message: text, stream: false, returnAllMessages: false };
        const model = models.list.default;
        const user = { did: userDid, delegation };
        const sent = { sendId: randomUUID(), requestId, model, secrets: {}, blobs: createBlobStore() };
        await plugins.beforeSend({ ...sent, userDid, sessionId, message: body });
        const run = await hub.submit({ ...sent, session, user, body, timezone });
        const answer = await run.answer.catch(() => undefined);
        const { reason } = run.signal;
        // Cut off by this process's own end, not by any fault of the message: it may be sent again.
        if (!answer || (reason instanceof RunCancelled && reason.by === 'shutdown'))
          throw new AppError('UNAVAILABLE', 'The service stopped before the answer was complete.');
        return answer;
      },
    }),
  });
  started.defer(() => plugins.close());
  const hub = createTurnHub({
    runs,
    instance,
    broadcast,
    logger,
    onNotStored: () => metrics.notStored.inc(),
    release: ({ runId, epoch }) => interrupted.release(runId, epoch),
    turnTimeoutMs: config.TURN_TIMEOUT_MS,
    execute: createExecutor({
      config,
      oracle,
      plugins,
      models,
      messages,
      summaries: createSummaryStore(store),
      signer,
      browserCalls,
      invalidate: (sessionId, messageId) =>
        sockets.notify(sessionId, 'message_cache_invalidation', { sessionId, ...(messageId && { messageId }) }),
      async onDelegationSent(view) {
        if (await delegations.markSent(view)) sockets.dropDelegation({ did: view.issuer, cid: view.cid });
      },
      logger,
    }),
    onEvent(run, { name, data }) {
      // The question is stored: other pages of the user learn that a turn is under way, and can follow it.
      if (name === 'run') sockets.notify(run.sessionId, 'message_cache_invalidation', { sessionId: run.sessionId });
      if (name === 'tool_call' || name === 'render_component' || name === 'router_update')
        sockets.notify(run.sessionId, name, data);
    },
    onEnd: ({ sessionId, messageId }) =>
      sockets.notify(sessionId, 'message_cache_invalidation', { sessionId, messageId }),
    onTurnEnd: plugins.onTurnEnd,
  });
  // Nothing new is taken in while turns in flight finish; pages stay connected for their sake.
  started.defer(async () => {
    const hasOthers = await cluster.hasOthers().catch(() => false);
    await Promise.all([closeServer(server), hub.close(turnGraceMs, hasOthers).then(() => sockets.close())]);
    broadcast.publish({ kind: 'released' });
  });

  const follower = createRunFollower({ runs, broadcast, logger });
  const reader = createRunReader({ hub, runs, messages, follower });
  const isPublic = createRouteMatcher([...ownPublicRoutes, ...plugins.publicRoutes, ...parts.authExcludedRoutes]);
  const clientKey = createClientKey(config.SHARED_CLIENT_CIDRS);
  // Before authentication: anyone can make as many keys as they like.
  addRateLimit(server, {
    name: 'agent-writes',
    perMinute: config.WRITES_PER_MINUTE_PER_ADDRESS ?? config.SENDS_PER_MINUTE * agentLimits.writesPerSend,
    redis,
    key: (request) => (isRead(request.method) ? undefined : clientKey(request)),
  });
  addAuth(server, { ...auth, isPublic });
  await addDocs(server, { title: `${oracle.name}: agent service`, version: '1', isPublic });
  addStatusRoute(server);
  addStoreMetrics(server.metrics, store.stats);
  addOperatorAudit(server, audit);
  addAuditRoute(server, { path: '/audit', audit });
  await addSessionRoutes(server, {
    sessions,
    createLimit: {
      name: 'agent-sessions',
      perMinute: config.SESSIONS_PER_MINUTE ?? config.SENDS_PER_MINUTE,
      redis,
    },
    messages,
    hub,
    onRemoved(sessionId) {
      sockets.notify(sessionId, 'message_cache_invalidation', { sessionId });
      sockets.drop(sessionId);
    },
  });
  await addMessageRoutes(server, {
    sessions,
    messages,
    delegations,
    models,
    hub,
    runs,
    reader,
    sendLimit: { name: 'agent-sends', perMinute: config.SENDS_PER_MINUTE, redis },
    clientKey,
    beforeSend: plugins.beforeSend,
  });
  const userData = createUserData({
    store,
    audit,
    agentDid: oracle.did,
    plugins: plugins.loaded.map(({ plugin }) => plugin),
    dropSession(sessionId) {
      hub.drop(sessionId);
      sockets.drop(sessionId);
    },
  });
  addUserDataRoutes(server, { userData, audit });
  addRunRoutes(server, { reader });
  addDelegationRoutes(server, { delegations, verifier, audit, onRevoked: sockets.dropDelegation });
  for (const { plugin, ctx } of plugins.loaded) {
    const addRoutes = plugin.getRoutes?.(ctx);
    if (addRoutes) await server.register(async (scope: Server) => addRoutes(scope));
  }
  if (parts.addRoutes) await parts.addRoutes(server);
  const upkeep = createRunUpkeep({
    cluster,
    store,
    interrupted,
    runs,
    hub,
    logger,
    retention: {
      framesMs: config.RUN_FRAMES_MINUTES * 60_000,
      runsMs: config.RUN_RETENTION_DAYS * 24 * hourMs,
      sendsMs: config.IDEMPOTENCY_HOURS * hourMs,
    },
    async loadTurn({ runId, sessionId, userDid, requestId, model, input }) {
      const [session, question] = await Promise.all([sessions.find(userDid, sessionId), interrupted.question(runId)]);
      const sent = input !== null && question && parseStoredInput(input, question.content);
      if (!session || !sent) return undefined;
      const delegation = (await delegations.find(userDid))?.token;
      return {
        ...sent,
        session,
        user: { did: userDid, delegation },
        requestId,
        model,
        secrets: {},
        blobs: createBlobStore(),
      };
    },
    onSwept: (outcome) => metrics.swept.inc({ outcome }),
  });
  await upkeep.start();
  started.defer(() => upkeep.stop());
  ready.resolve();

  return {
    server,
    plugins,
    models,
    close: keepOpen(started),
  };
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function toOracleIdentity(config: AgentConfig, signer: Signer): OracleIdentity {
  const signingDid = signer.did();
  const keyDid = config.ORACLE_DID ?? signingDid;
  return { name: config.ORACLE_NAME, did: config.ORACLE_ENTITY_DID ?? keyDid, keyDid, signingDid };
}
