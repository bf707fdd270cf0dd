import { EventEmitter } from 'node:events';
import type { CloseStack, Logger } from '@palaver/service-kit';
import { createRateLimit } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import type { Redis } from 'ioredis';
import { createClientKey } from '../auth/client-key.ts';
import { createSeal, deriveKey } from '../auth/seal.ts';
import type { Cluster } from '../cluster/create-cluster.ts';
import { createSessionClients } from '../cluster/session-clients.ts';
import type { AgentConfig } from '../config.ts';
import type { SelectOptions } from '../define/select-plugins.ts';
import { createPluginHost } from '../define/start-plugins.ts';
import { createSenderOf } from '../doors/sender-of.ts';
import { createRunCounters } from '../metrics.ts';
import type { Models } from '../models/create-models.ts';
import { createRunAccess, createTurnPreparation } from '../runs/access.ts';
import { createRunApprovals } from '../runs/approvals.ts';
import { createRunFollower, createRunReader } from '../runs/follow.ts';
import { createTurnHub } from '../runs/hub.ts';
import { createRunUpkeep } from '../runs/take-over.ts';
import { createApprovalStore } from '../store/approvals.ts';
import { createMessageStore, createSummaryStore } from '../store/messages.ts';
import { createRunStore } from '../store/runs.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createSessionStore } from '../store/sessions.ts';
import type { AgentBehaviour } from '../turn/behaviour.ts';
import { createBrowserCalls } from '../turn/browser-calls.ts';
import { createExecutor } from '../turn/turn.ts';
import type { AgentIdentity } from './create-identity.ts';
import { createPluginContext, listPublicTools } from './create-plugin-context.ts';

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
  const { sessions, messages, runs } = stores;
  const counters = createRunCounters();
  const clients = createSessionClients(broadcast);
  const browserCalls = createBrowserCalls({ timeoutMs: config.BROWSER_TOOL_TIMEOUT_MS, clients });

  const clientKey = createClientKey(config.SHARED_CLIENT_CIDRS);
  const senderOf = createSenderOf(clientKey);

  const plugins = createPluginHost(parts);
  started.defer(() => plugins.close());

  // Runs that may have no owner: whoever sweeps looks for them at once.
  const elsewhere = new EventEmitter();
  const onElsewhere = () => void elsewhere.emit('found');
  const preparation = createTurnPreparation({ ...stores, ...identity, ...plugins, models });
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
    loadInput: preparation.loadInput,
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
  const perMinute = config.SENDS_PER_MINUTE;
  const sendLimit = createRateLimit({ name: 'agent-sends', perMinute, redis: parts.redis });
  const access = createRunAccess({ hub, approvals, runs, messages, reader, preparation, sendLimit });

  const upkeep = createRunUpkeep({
    cluster,
    store,
    runs,
    hub,
    approvals,
    logger,
    retention: toRetention(config),
    loadTurn: preparation.restore,
    onSwept: (outcome) => counters.swept.inc({ outcome }),
    onTurnEnd: plugins.onTurnEnd,
  });
  // A plugin may have something to send before everything has started.
  const ready = Promise.withResolvers<void>();
  await plugins.start((plugin, pluginConfig) =>
    createPluginContext(plugin, {
      ...{ ...parts, ...stores, pluginConfig, clientKey, senderOf, access },
      whenReady: ready.promise,
      publicTools: () => listPublicTools(plugins.loaded),
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
    /** Accepts nothing new and lets turns finish. */
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
