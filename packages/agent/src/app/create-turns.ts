import { EventEmitter } from 'node:events';
import type { CloseStack, Logger } from '@palaver/service-kit';
import { addGauge, createRateLimit, isOwnMachine } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { deriveSigner } from '@palaver/ucan';
import type { FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { Counter, type Registry } from 'prom-client';
import { createSenderOf } from '../auth/auth-hook.ts';
import { createClientKey } from '../auth/authorize.ts';
import { createSeal, deriveKey } from '../auth/seal.ts';
import type { Cluster } from '../cluster/create-cluster.ts';
import { createSessionClients } from '../cluster/session-clients.ts';
import type { AgentConfig } from '../config.ts';
import type { OraclePlugin, PluginContext } from '../define/plugin.ts';
import type { LoadedPlugin, SelectOptions } from '../define/select-plugins.ts';
import { createPluginHost } from '../define/start-plugins.ts';
import type { PublicTool } from '../define/tool.ts';
import { toDeclared } from '../define/tool-arguments.ts';
import type { Models } from '../models/create-models.ts';
import { createRunAccess, createTurnPreparation, type RunAccess } from '../runs/access.ts';
import { createRunApprovals } from '../runs/approvals.ts';
import { createRunFollower, createRunReader } from '../runs/follow.ts';
import { createTurnHub } from '../runs/hub.ts';
import { createRunUpkeep } from '../runs/take-over.ts';
import { createApprovalStore } from '../store/approvals.ts';
import { createMessageStore, createSummaryStore, type MessageStore } from '../store/messages.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore, type SessionStore, toRoomId } from '../store/sessions.ts';
import type { AgentBehaviour } from '../turn/behaviour.ts';
import { createBrowserCalls } from '../turn/runtime-context.ts';
import { createExecutor } from '../turn/turn.ts';
import type { AgentIdentity } from './create-identity.ts';

export interface TurnsParts extends SelectOptions {
  config: AgentConfig;
  logger: Logger;
  store: Store<AgentDatabase>;
  identity: AgentIdentity;
  cluster: Cluster;
  models: Models;
  behaviour?: AgentBehaviour;
  redis: Redis | undefined;
  turnGraceMs: number;
}

export type AgentTurns = Awaited<ReturnType<typeof createTurns>>;

/** Everything that makes answers: plugins, models, runs and their stores. It does not depend on doors. */
export async function createTurns(parts: TurnsParts, started: CloseStack) {
  const { config, logger, identity, cluster, models } = parts;
  const { broadcast, instance } = cluster;
  const stores = createStores(parts);
  const { sessions, messages, runs } = stores;
  const counters = createRunCounters();
  const clients = createSessionClients(broadcast);
  const browserCalls = createBrowserCalls(config.BROWSER_TOOL_TIMEOUT_MS, clients);

  const clientKey = createClientKey(config.SHARED_CLIENT_CIDRS);
  const senderOf = createSenderOf(clientKey);

  const plugins = createPluginHost(parts);
  started.defer(() => plugins.close());

  // Runs that may have no owner: whoever sweeps looks for them at once.
  const elsewhere = new EventEmitter();
  const onElsewhere = () => void elsewhere.emit('found');
  const preparation = createTurnPreparation({ ...stores, ...identity, ...plugins, models });
  const shared = { ...stores, ...identity, broadcast, logger, onElsewhere };
  const approvals = createRunApprovals({ ...shared, timeoutMs: config.APPROVAL_TIMEOUT_MS });
  const hub = createTurnHub({
    ...shared,
    instance,
    now: cluster.now,
    clients,
    turnTimeoutMs: config.TURN_TIMEOUT_MS,
    explainsFaults: isOwnMachine(config),
    approvals,
    execute: createExecutor({ ...parts, ...identity, ...stores, plugins, browserCalls, clients }),
    loadInput: preparation.loadInput,
    onNotStored: () => counters.notStored.inc(),
    onTurnEnd: plugins.onTurnEnd,
  });
  const drain = once(async () => {
    await hub.close(parts.turnGraceMs, await cluster.hasOthers().catch(() => false));
    broadcast.publish({ kind: 'released' });
  });
  started.defer(drain);

  const reader = createRunReader({ hub, runs, messages, follower: createRunFollower({ runs, broadcast, logger }) });
  const perMinute = config.SENDS_PER_MINUTE;
  const sendLimit = createRateLimit({ name: 'agent-sends', perMinute, redis: parts.redis });
  const access = createRunAccess({ hub, approvals, runs, messages, reader, preparation, sendLimit });

  const upkeep = createRunUpkeep({
    ...parts,
    runs,
    hub,
    approvals,
    retention: toRetention(config),
    loadTurn: preparation.restore,
    onSwept: (outcome) => counters.swept.inc({ outcome }),
    onTurnEnd: plugins.onTurnEnd,
  });
  // A plugin may have something to send before everything has started.
  const ready = Promise.withResolvers<void>();
  await plugins.start((plugin, pluginConfig) =>
    createPluginContext(plugin, {
      ...parts,
      ...stores,
      pluginConfig,
      clientKey,
      senderOf,
      access,
      whenReady: ready.promise,
      publicTools: () => listPublicTools(plugins.loaded),
      keepFile: plugins.keepFile,
    }),
  );
  return {
    sessions,
    messages,
    plugins,
    hub,
    access,
    approvals,
    clients,
    browserCalls,
    counters,
    sweepLagSeconds: upkeep.lagSeconds,
    clientKey,
    senderOf,
    drain,
    /** From now on runs of dead instances are taken over, and plugins may send. */
    async start(): Promise<void> {
      await upkeep.start();
      // Alone, only this instance can continue them; among several, who holds the lease looks for them soon.
      if (cluster.isAlone) elsewhere.on('found', () => void upkeep.sweep());
      started.defer(() => upkeep.stop());
      ready.resolve();
    },
  };
}

function createStores({ store, config, identity }: Pick<TurnsParts, 'store' | 'config' | 'identity'>) {
  return {
    sessions: createSessionStore(store, identity.oracle, { perUser: config.SESSIONS_PER_USER }),
    messages: createMessageStore(store),
    runs: createRunStore(store),
    approvals: createApprovalStore(store, createSeal(deriveKey(identity.signer.toSecret(), 'signed invocations'))),
    summaries: createSummaryStore(store),
  };
}

const hourMs = 3_600_000;

function toRetention(config: AgentConfig) {
  return {
    framesMs: 10 * 60_000,
    runsMs: config.RUN_RETENTION_DAYS * 24 * hourMs,
    sendsMs: 24 * hourMs,
    messagesMs: config.RETENTION_MESSAGES_DAYS * 24 * hourMs,
    sessionsMs: config.RETENTION_SESSIONS_DAYS * 24 * hourMs,
    delegationsMs: config.RETENTION_DELEGATIONS_DAYS * 24 * hourMs,
  };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

interface PluginContextParts
  extends Pick<PluginContext, 'logger' | 'models' | 'clientKey' | 'publicTools' | 'senderOf' | 'keepFile'> {
  config: Pick<AgentConfig, 'PUBLIC_URL'>;
  pluginConfig: Record<string, unknown>;
  store: Store<AgentDatabase>;
  identity: AgentIdentity;
  sessions: SessionStore;
  messages: MessageStore;
  access: RunAccess;
  whenReady: Promise<void>;
}

function createPluginContext(plugin: OraclePlugin, parts: PluginContextParts): PluginContext {
  const { identity, models, access, whenReady } = parts;
  const secret = identity.signer.toSecret();
  return {
    config: parts.pluginConfig,
    logger: parts.logger.child({ plugin: plugin.name }),
    store: parts.store,
    audit: identity.audit,
    oracle: identity.oracle,
    models,
    shared: (rt) => rt.shared,
    llm: { get: models.get },
    sessions: parts.sessions,
    messages: parts.messages,
    deriveDid: async (label) => (await deriveSigner({ secret: Buffer.from(secret), label })).did(),
    deriveKey: (label) => deriveKey(secret, `plugin ${plugin.name} ${label}`),
    send: async ({ text, ...message }) => {
      await whenReady;
      return access.send({ ...message, body: { message: text, stream: false, returnAllMessages: false } });
    },
    open: async ({ key, ...message }) => {
      await whenReady;
      return access.open({ ...message, key: key === undefined ? undefined : `${plugin.name} ${key}` });
    },
    resume: (run) => whenReady.then(() => access.resume(run)),
    listRuns: (query) => whenReady.then(() => access.listRuns(query)),
    answerApproval: (answer) => whenReady.then(() => access.answerApproval(answer)),
    liveRun: (session) => whenReady.then(() => access.liveRun(session)),
    publicTools: parts.publicTools,
    keepFile: parts.keepFile,
    roomOf: (userDid) => toRoomId(userDid, identity.oracle.did),
    urlOf: (request) => parts.config.PUBLIC_URL ?? addressOf(request),
    clientKey: parts.clientKey,
    senderOf: parts.senderOf,
  };
}

function listPublicTools(plugins: LoadedPlugin[]): PublicTool[] {
  return plugins
    .filter(({ manifest }) => manifest.visibility !== 'on-demand')
    .flatMap(({ tools }) => Object.entries(tools))
    .filter(([, tool]) => tool.public)
    .map(([name, tool]) => ({ name, ...toDeclared(tool) }));
}

function addressOf(request: FastifyRequest): string {
  const host = /^[\w.:[\]-]+$/.test(request.host) ? request.host : 'localhost';
  return `${request.protocol}://${host}`;
}

function createRunCounters() {
  return {
    notStored: new Counter({
      name: 'agent_answers_not_stored_total',
      help: 'Answers that could not be stored in time; their readers received a failed turn.',
      registers: [],
    }),
    swept: new Counter({
      name: 'agent_interrupted_runs_total',
      help: 'Runs of instances that died or stopped, by what became of them.',
      labelNames: ['outcome'] as const,
      registers: [],
    }),
  };
}

export function addRunMetrics(registry: Registry, { counters, hub, sweepLagSeconds }: AgentTurns, cluster: Cluster) {
  registry.registerMetric(counters.notStored);
  registry.registerMetric(counters.swept as Counter);
  const add = (name: string, help: string, read: () => number) => addGauge(registry, name, help, read);
  add('agent_live_runs', 'Runs that this instance carries out or that wait on it.', hub.size);
  add('agent_overdue_runs', 'Runs of this instance that should have ended by now.', hub.countOverdue);
  add('agent_sweep_lag_seconds', 'Time since runs of dead instances were last looked for.', sweepLagSeconds);
  add(
    'agent_clock_skew_seconds',
    "How far this machine's clock is ahead of the database's.",
    () => cluster.clockSkewMs() / 1000,
  );
}
