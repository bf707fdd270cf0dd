import { METHODS } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import websocket from '@fastify/websocket';
import { CloseStack, createServer, keepOpen, type Logger, type Server, StartError } from '@palaver/service-kit';
import { addRateLimit, createProbes, type openRedis, toEdge } from '@palaver/service-kit/internal';
import type { FastifyInstance } from 'fastify';
import { type Answer, type WriteError, weighAnswer } from './answer.ts';
import { createAskNode } from './ask-node.ts';
import { nameKeys } from './auth/api-key.ts';
import type { Authorize } from './auth/authorize.ts';
import { type Cache, createCache } from './cache.ts';
import { type GatewayConfig, toPrefixes } from './config.ts';
import { chain, type Extensions } from './extensions.ts';
import { toRefusalBody } from './gateway-error.ts';
import { createHeightFloors } from './height-floors.ts';
import { createLiveTable, type LiveTable } from './live-table.ts';
import { createGatewayMetrics, type GatewayMetrics } from './metrics.ts';
import { readHealth } from './read-health.ts';
import { addDocumentRoutes } from './routes/documents.ts';
import { createQueryHandler } from './routes/query.ts';
import { addRpcRoutes } from './routes/rpc.ts';
import { addStatusRoute } from './routes/status.ts';
import { createTxHandler } from './routes/tx.ts';
import { createRpcClient, type RpcReply, weighReply } from './rpc/rpc-client.ts';
import { createSubscriptions } from './rpc/subscriptions.ts';
import { timeCalls } from './upstream/time-calls.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

const bodyLimit = 1024; // queries have no body
const txBodyLimit = 1024 * 1024;
/** How long the start waits for the routes: whoever gets the address should not meet an empty table. */
const firstLoadMs = 1_000;

export interface GatewayParts {
  config: GatewayConfig;
  logger: Logger;
  authorize: Authorize;
  /** Certificates for `tls://` nodes. */
  ca?: string | undefined;
  extensions?: Extensions;
  /** Where rate limits are counted when several gateways share them. */
  redis?: Awaited<ReturnType<typeof openRedis>> | undefined;
}

/** The query gateway as a server that is not listening yet. Closing it closes the connections to the nodes. */
export async function createGatewayApp(parts: GatewayParts): Promise<Server> {
  await using started = new CloseStack();
  const { config, logger, redis } = parts;
  const nodes = openNodes(parts, started);
  const server = await createEdge(parts, nodes);
  const metrics = createGatewayMetrics({
    registry: server.metrics,
    cacheBytes: nodes.cache.bytes,
    routes: () => nodes.live.current()?.table.routes.length ?? 0,
    upstreams: nodes.upstream.status,
    chain: () => nodes.checkHealth().body,
  });
  addStatusRoute(server);
  addDocumentRoutes(server, nodes.live);

  const authorize = config.GATEWAY_AUTH === 'api-key' ? nameKeys(parts.authorize, metrics) : parts.authorize;
  const { interceptors = [], matchHeader } = parts.extensions ?? {};
  const writeError = createWriteError(parts);
  const send = chain([timeCalls(metrics), ...interceptors])(nodes.upstream.send);
  const ask = createAskNode({ send, logger, writeError });
  const shared = { config, live: nodes.live, authorize, ask, metrics, writeError, matchHeader };
  const handleQuery = createQueries(shared, nodes);
  await server.register(async (limited) => {
    const perMinute = config.GATEWAY_RATE_LIMIT_PER_MINUTE;
    if (perMinute > 0) addRateLimit(limited, { name: 'gateway', perMinute, redis });
    if (config.GATEWAY_TX) await limited.register(async (scope) => addTx(scope, shared, handleQuery));
    if (config.GATEWAY_RPC)
      await limited.register((scope) => addRpc(scope, config.GATEWAY_RPC ?? '', { ...parts, authorize, metrics }));
    await limited.register(async (scope) => addQueries(scope, config, handleQuery));
  });
  // Without a file or folder the first node that is reached is asked.
  if (config.GATEWAY_DESCRIPTORS) {
    await nodes.live.reload().catch((error: Error) => {
      throw new StartError(`GATEWAY_DESCRIPTORS: ${config.GATEWAY_DESCRIPTORS}: ${error.message}`, { cause: error });
    });
  }
  server.addHook('onReady', () => Promise.race([nodes.firstLoad, sleep(firstLoadMs)]));
  server.addHook('onClose', keepOpen(started));
  return server;
}

/** Errors in the operator's shape; in the gateway's own where that fails. */
function createWriteError({ extensions, logger }: GatewayParts): WriteError {
  const { writeError } = extensions ?? {};
  if (!writeError) return (body) => body;
  return (body) => {
    try {
      return writeError(body);
    } catch (error) {
      logger.error({ err: error }, 'writeError of GATEWAY_EXTENSIONS failed');
      return body;
    }
  };
}

/** The nodes, the routes they offer and the answers that are kept. */
interface Nodes {
  upstream: Upstream;
  live: LiveTable;
  cache: Cache<Answer>;
  /** Resolves when routes are known for the first time. */
  firstLoad: Promise<void>;
  checkHealth(): ReturnType<typeof readHealth>;
}

function openNodes({ config, logger, ca }: GatewayParts, started: CloseStack): Nodes {
  const upstream = createUpstream({
    addresses: config.GATEWAY_UPSTREAMS,
    ca,
    maxLagBlocks: config.GATEWAY_MAX_LAG_BLOCKS,
    // A node that is back may be another version of itself.
    onConnect: (address, again) => {
      logger.info({ address }, again ? 'node reached again' : 'node reached');
      loadRoutes();
    },
  });
  started.defer(() => upstream.close());
  const cache = createCache<Answer>({
    maxBytes: config.GATEWAY_CACHE_MB * 1024 * 1024,
    weigh: weighAnswer,
    staleMs: config.GATEWAY_STALE_IF_ERROR_MS,
  });
  const firstLoad = Promise.withResolvers<void>();
  const live = createLiveTable({
    descriptors: config.GATEWAY_DESCRIPTORS,
    upstream,
    logger,
    prefixes: toPrefixes(config),
    hasWrites: config.GATEWAY_TX,
    onChange() {
      cache.clear();
      firstLoad.resolve();
    },
  });
  let retry: NodeJS.Timeout | undefined;
  started.defer(() => clearTimeout(retry));
  const loadRoutes = () => {
    clearTimeout(retry);
    live.reload().catch((error: unknown) => {
      logger.warn({ err: error }, 'the routes could not be loaded');
      retry = setTimeout(loadRoutes, 1_000).unref();
    });
  };
  const checkHealth = () => readHealth({ upstream, live, haltedAfterMs: config.GATEWAY_HALTED_AFTER_MS });
  return { upstream, live, cache, firstLoad: firstLoad.promise, checkHealth };
}

function createEdge(parts: GatewayParts, { checkHealth }: Nodes): Promise<Server> {
  const { config, logger, redis } = parts;
  const writeError = createWriteError(parts);
  return createServer({
    name: 'gateway',
    logger,
    ...toEdge(config),
    bodyLimit,
    probes: createProbes({ redis, withoutRedis: 'Rate limits are not enforced.' }),
    cors: config.CORS_ORIGIN && {
      origins: config.CORS_ORIGIN,
      extraHeaders: ['x-api-key', 'x-cosmos-block-height', 'x-min-block-height', 'if-none-match'],
      exposedHeaders: ['X-Cosmos-Block-Height', 'Grpc-Metadata-X-Cosmos-Block-Height', 'X-Cache', 'ETag', 'Warning'],
    },
    toErrorBody: (error) => writeError(toRefusalBody(error)),
    health: async () => checkHealth(),
  });
}

/** What queries and transactions both need. */
interface Shared {
  config: GatewayConfig;
  live: LiveTable;
  authorize: Authorize;
  ask: ReturnType<typeof createAskNode>;
  metrics: GatewayMetrics;
  writeError: WriteError;
  matchHeader: Extensions['matchHeader'];
}
type Handler = ReturnType<typeof createQueryHandler>;

function createQueries({ config, matchHeader, ...shared }: Shared, { cache, upstream }: Nodes): Handler {
  const isPublic = config.GATEWAY_AUTH === 'none';
  const varyOn = [
    'Accept-Encoding',
    'X-Cosmos-Block-Height',
    ...(isPublic ? [] : ['Authorization', 'X-Api-Key']),
    ...(config.CORS_ORIGIN ? ['Origin'] : []),
  ];
  return createQueryHandler({
    ...shared,
    cache,
    floors: createHeightFloors(() => upstream.chain().height),
    options: {
      timeoutMs: config.GATEWAY_TIMEOUT_MS,
      forwardAuth: config.GATEWAY_FORWARD_AUTH,
      matchHeader,
      ttlMs: config.GATEWAY_CACHE_TTL_MS,
      pinnedTtlMs: config.GATEWAY_PINNED_TTL_MS,
      isPublic,
      vary: varyOn.join(', '),
    },
  });
}

function addQueries(scope: FastifyInstance, { CORS_ORIGIN }: GatewayConfig, handler: Handler): void {
  // Whatever comes with another method is refused for the method: its body is not looked at.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const name of METHODS) if (!scope.supportedMethods.includes(name)) scope.addHttpMethod(name);
  // With CORS on, its plugin has the OPTIONS of every path.
  const method = scope.supportedMethods.filter((name) => name !== 'OPTIONS' || !CORS_ORIGIN);
  scope.route({ method, url: '/*', handler });
}

function addTx(scope: FastifyInstance, { config, matchHeader, ...shared }: Shared, otherwise: Handler): void {
  const { GATEWAY_TIMEOUT_MS: timeoutMs, GATEWAY_FORWARD_AUTH: forwardAuth } = config;
  const options = { timeoutMs, forwardAuth, matchHeader };
  scope.post('/cosmos/tx/*', { bodyLimit: txBodyLimit }, createTxHandler({ ...shared, options, otherwise }));
}

async function addRpc(
  scope: FastifyInstance,
  url: string,
  parts: GatewayParts & { metrics: GatewayMetrics },
): Promise<void> {
  const { config, logger, authorize, metrics } = parts;
  const maxBytes = (config.GATEWAY_CACHE_MB * 1024 * 1024) / 4;
  const cache = createCache<RpcReply>({ maxBytes, weigh: weighReply, staleMs: 0 });
  const perClient = config.GATEWAY_RPC_QUERIES_PER_CLIENT;
  const subscriptions = createSubscriptions({ rpcUrl: url, logger, metrics, perClient });
  scope.addHook('preClose', async () => subscriptions.close());
  await scope.register(websocket, { options: { maxPayload: 1024 * 1024 } });
  const { GATEWAY_TIMEOUT_MS: timeoutMs, GATEWAY_PINNED_TTL_MS: pinnedTtlMs } = config;
  const client = createRpcClient({ url, timeoutMs, pinnedTtlMs, cache });
  const allowed = new Set(config.GATEWAY_RPC_METHODS);
  addRpcRoutes(scope, { client, allowed, subscriptions, authorize, perMinute: config.GATEWAY_RATE_LIMIT_PER_MINUTE });
}
