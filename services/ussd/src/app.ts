import { ussdLimits } from '@palaver/contract';
import { addOutboxRoutes } from '@palaver/protocol/internal';
import { CloseStack, createServer, keepOpen, type Server, StartError } from '@palaver/service-kit';
import {
  addOperatorAudit,
  addRateLimit,
  addStoreMetrics,
  createProbes,
  toDataFolder,
  toEdge,
  type ZodTypeProvider,
} from '@palaver/service-kit/internal';
import { timeReaderOf, toUnavailable } from '@palaver/store/internal';
import { createInputLog } from './channel/input-log.ts';
import { loadAdapters } from './channel/load-adapters.ts';
import { createPush } from './channel/push.ts';
import { createSmppReceiver } from './channel/smpp-ussd.ts';
import { createTexts } from './channel/texts.ts';
import { createAnswer } from './channel/ussd-call.ts';
import { addTextRoute, addUssdRoutes } from './channel/ussd-routes.ts';
import { createDomain, type DomainParts } from './domain.ts';
import { createUssdMetrics } from './metrics.ts';
import { addUssdDocs } from './operators/api-docs.ts';
import { addClaimRoutes } from './operators/claim-routes.ts';
import { addLinkRoutes } from './operators/link-routes.ts';
import { addOperatorRoutes } from './operators/operator-routes.ts';

export interface UssdParts extends Omit<DomainParts, 'metrics'> {
  redis?: Parameters<typeof addRateLimit>[1]['redis'];
  adapterSecrets: Readonly<Record<string, string>>;
}

export async function createUssdApp(parts: UssdParts): Promise<Server> {
  const { config, logger, store, keys, redis, secrets, adapterSecrets, servers } = parts;
  await using started = new CloseStack();
  const startedAt = Date.now();
  const adapters = await loadAdapters(config.USSD_ADAPTERS, adapterSecrets);
  const server = await createServer({
    name: 'ussd',
    logger,
    ...toEdge(config),
    bodyLimit: ussdLimits.bodyBytes,
    toKnownError: toUnavailable,
    probes: createProbes({
      redis,
      withoutRedis: 'Rate limits are not enforced.',
      folder: toDataFolder(config),
      readTime: timeReaderOf(store),
      isLocked: store.isLocked,
    }),
    async health() {
      const healthy = await store.ping();
      const body = {
        status: healthy ? 'ok' : 'degraded',
        environment: config.NODE_ENV,
        timestamp: new Date().toISOString(),
        uptime: (Date.now() - startedAt) / 1000,
        database: healthy ? 'connected' : 'disconnected',
      };
      return { healthy, body };
    },
  });
  await addUssdDocs(server);
  // For platform probes.
  server.get('/', async () => ({
    status: 'ok',
    message: 'Palaver USSD gateway running',
    environment: config.NODE_ENV,
    timestamp: new Date().toISOString(),
  }));
  const metrics = createUssdMetrics(server.metrics, {
    activeSessions: () => domain.countActive(),
    sweepLagSeconds: () => domain.sweeper.lagSeconds(),
    waitingSms: () => domain.messages.countWaiting(),
    boundLinks: () => domain.smpp?.countBound() ?? 0,
    waitingSubmissions: () => domain.submissions.countWaiting(),
  });
  const domain = await createDomain({ config, logger, store, keys, metrics, secrets, servers });
  started.defer(() => domain.close());
  const channel = { ...domain, inputLog: createInputLog(domain) };
  const answer = createAnswer(channel);
  const texts = createTexts(channel);
  const smpp = createSmppReceiver({ ...channel, answer, texts });
  domain.smpp?.receive(smpp.deliver);
  const push = createPush({ ...domain, texts, pushScreen: domain.smpp && smpp.push });
  addStoreMetrics(server.metrics, store, logger);
  addOperatorAudit(server, domain.audit);
  const limit = { perMinute: config.RATE_LIMIT_PER_MINUTE, redis };
  // Counted apart from calls: the provider of a phone that sends hundreds may be the gateway of all who call.
  await server.register(async (scope) => {
    addRateLimit(scope, { name: 'ussd texts', ...limit });
    addTextRoute(scope, texts, config);
  });
  await server.register(async (scope) => {
    const limited = scope.withTypeProvider<ZodTypeProvider>();
    addRateLimit(scope, { name: 'ussd', ...limit });
    await addUssdRoutes(limited, { ...channel, adapters, answer })
      .then(() => addOperatorRoutes(limited, { ...domain, adapters, push }))
      .catch(explainPath);
    addLinkRoutes(limited, domain);
    const { claiming } = domain;
    if (claiming) {
      addClaimRoutes(limited, claiming.claims, config.CLAIMS_SCHEDULER_SECRET);
      addOutboxRoutes(limited, { path: '/api/ussd/transactions', outbox: claiming.outbox });
    }
  });
  server.addHook('onClose', keepOpen(started));
  return server;
}

function explainPath(error: Error): never {
  if (!('code' in error) || error.code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
  throw new StartError(`a path of USSD_ADAPTERS is one of the gateway's own: ${error.message}; give it another`);
}
