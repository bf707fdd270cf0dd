import type { CloseStack, Logger } from '@palaver/service-kit';
import { createRateLimit } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import { deriveSigner } from '@palaver/ucan';
import type { Redis } from 'ioredis';
import { createClientKey } from '../auth/client-key.ts';
import { deriveKey } from '../auth/derive-key.ts';
import { createSeal } from '../auth/seal.ts';
import type { Cluster } from '../cluster/create-cluster.ts';
import type { AgentConfig } from '../config.ts';
import { createSenderOf, type SenderOf } from '../doors/sender-of.ts';
import type { AgentBehaviour } from '../loop/agent-behaviour.ts';
import { createBrowserCalls } from '../loop/browser-calls.ts';
import { createExecutor } from '../loop/create-executor.ts';
import { createRunCounters } from '../metrics.ts';
import type { Models } from '../models/create-models.ts';
import type { LoadedPlugin } from '../plugins/loaded-plugin.ts';
import type { OraclePlugin } from '../plugins/plugin.ts';
import type { PluginContext } from '../plugins/plugin-context.ts';
import type { SelectOptions } from '../plugins/select-plugins.ts';
import { startPlugins } from '../plugins/start-plugins.ts';
import type { PublicTool } from '../plugins/tool.ts';
import { toInputSchema } from '../plugins/tool-input.ts';
import { createRunFollower } from '../run/follow-runs.ts';
import { createRunReader } from '../run/open-run.ts';
import { createTurnPreparation } from '../run/prepare-turn.ts';
import { createRunAccess, type RunAccess } from '../run/run-access.ts';
import { createRunApprovals } from '../run/run-approvals.ts';
import { createRunUpkeep } from '../run/run-upkeep.ts';
import { createSessionClients } from '../run/session-clients.ts';
import { createTurnHub } from '../run/turn-hub.ts';
import { createApprovalStore } from '../store/approvals.ts';
import { createInterruptedRuns } from '../store/interrupted-runs.ts';
import { createMessageStore, type MessageStore } from '../store/messages.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore, type SessionStore } from '../store/sessions.ts';
import { createSummaryStore } from '../store/summaries.ts';
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
  /** How long turns may continue while the process closes. */
  turnGraceMs: number;
}

export type AgentTurns = Awaited<ReturnType<typeof createTurns>>;

/** Everything that makes answers: plugins, models, runs and their stores. It does not depend on doors. */
export async function createTurns(parts: TurnsParts, started: CloseStack) {
  const { config, logger, store, identity, cluster, models } = parts;
  const { broadcast, instance } = cluster;
  const stores = createStores(parts);
  const { sessions, messages, runs, interrupted } = stores;
  const counters = createRunCounters();
  const clients = createSessionClients(broadcast);
  const browserCalls = createBrowserCalls({ timeoutMs: config.BROWSER_TOOL_TIMEOUT_MS, clients });

  const clientKey = createClientKey(config.SHARED_CLIENT_CIDRS);
  const senderOf = createSenderOf(clientKey);

  // A plugin may have something to send before everything has started.
  const ready = Promise.withResolvers<RunAccess>();
  const plugins = await startPlugins({
    ...parts,
    createContext: (plugin, pluginConfig) =>
      createPluginContext(plugin, {
        ...parts,
        ...stores,
        pluginConfig,
        senderOf,
        access: ready.promise,
        publicTools: () => listPublicTools(plugins.loaded),
      }),
  });
  started.defer(() => plugins.close());

  let sweep = async () => {};
  // Alone, only this instance can continue it; among several, who holds the lease looks for it soon.
  const onElsewhere = () => {
    if (cluster.isAlone) void sweep();
  };
  const approvals = createRunApprovals({
    ...stores,
    audit: identity.audit,
    delegations: identity.delegations,
    broadcast,
    logger,
    timeoutMs: config.APPROVAL_TIMEOUT_MS,
    onElsewhere,
  });
  const hub = createTurnHub({
    runs,
    instance,
    broadcast,
    now: () => Date.now() - cluster.clockSkewMs(),
    clients,
    logger,
    turnTimeoutMs: config.TURN_TIMEOUT_MS,
    approvals,
    onElsewhere,
    execute: createExecutor({ ...parts, ...identity, ...stores, plugins, browserCalls, clients }),
    loadInput: (run) => preparation.loadInput(run),
    release: ({ runId, epoch }) => interrupted.release(runId, epoch),
    onNotStored: () => counters.notStored.inc(),
    onTurnEnd: plugins.onTurnEnd,
  });
  const drain = once(async () => {
    const hasOthers = await cluster.hasOthers().catch(() => false);
    await hub.close(parts.turnGraceMs, hasOthers);
    broadcast.publish({ kind: 'released' });
  });
  started.defer(drain);

  const follower = createRunFollower({ runs, broadcast, logger });
  const reader = createRunReader({ hub, runs, messages, follower });
  const preparation = createTurnPreparation({ ...stores, ...identity, ...plugins, models });
  const perMinute = config.SENDS_PER_MINUTE;
  const sendLimit = createRateLimit({ name: 'agent-sends', perMinute, redis: parts.redis });
  const access = createRunAccess({ hub, approvals, runs, messages, reader, preparation, sendLimit });

  let sweepLag = () => 0;
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
    sweepLagSeconds: () => sweepLag(),
    clientKey,
    senderOf,
    /** Accepts nothing new and lets turns finish. */
    drain,
    /** From now on runs of dead instances are taken over, and plugins may send. */
    async start(): Promise<void> {
      const upkeep = createRunUpkeep({
        cluster,
        store,
        interrupted,
        runs,
        hub,
        approvals,
        logger,
        retention: toRetention(config),
        loadTurn: preparation.restore,
        onSwept: (outcome) => counters.swept.inc({ outcome }),
        onTurnEnd: plugins.onTurnEnd,
      });
      await upkeep.start();
      sweepLag = upkeep.lagSeconds;
      sweep = upkeep.sweep;
      started.defer(() => upkeep.stop());
      ready.resolve(access);
    },
  };
}

function createStores({ store, config, identity }: Pick<TurnsParts, 'store' | 'config' | 'identity'>) {
  return {
    sessions: createSessionStore(store, identity.oracle, { perUser: config.SESSIONS_PER_USER }),
    messages: createMessageStore(store),
    runs: createRunStore(store),
    approvals: createApprovalStore(store, createSeal(deriveKey(identity.signer.toSecret(), 'signed invocations'))),
    interrupted: createInterruptedRuns(store),
    summaries: createSummaryStore(store),
  };
}

interface PluginContextParts extends Pick<TurnsParts, 'logger' | 'store' | 'identity' | 'models'> {
  pluginConfig: Record<string, unknown>;
  sessions: SessionStore;
  messages: MessageStore;
  senderOf: SenderOf;
  access: Promise<RunAccess>;
  publicTools: PluginContext['publicTools'];
}

function createPluginContext(plugin: OraclePlugin, parts: PluginContextParts): PluginContext {
  const { identity, models, access } = parts;
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
    send: async ({ text, ...message }) =>
      (await access).send({ ...message, body: { message: text, stream: false, returnAllMessages: false } }),
    open: async ({ key, ...message }) =>
      (await access).open({ ...message, key: key === undefined ? undefined : `${plugin.name} ${key}` }),
    resume: async (run) => (await access).resume(run),
    listRuns: async (query) => (await access).listRuns(query),
    answerApproval: async (answer) => (await access).answerApproval(answer),
    liveRun: async (session) => (await access).liveRun(session),
    publicTools: parts.publicTools,
    senderOf: parts.senderOf,
  };
}

function listPublicTools(plugins: LoadedPlugin[]): PublicTool[] {
  return plugins
    .filter(({ manifest }) => manifest.visibility !== 'on-demand')
    .flatMap(({ tools }) => Object.entries(tools))
    .filter(([, tool]) => tool.public)
    .map(([name, tool]) => ({ name, description: tool.description, inputSchema: toInputSchema(tool) }));
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
