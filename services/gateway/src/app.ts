import { METHODS } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import websocket from '@fastify/websocket';
import { heightHeader, minHeightHeader } from '@palaver/contract/internal';
import { CloseStack, createServer, keepOpen, type Logger, type Server, StartError } from '@palaver/service-kit';
import {
  addRateLimit,
  addReadyReplies,
  type CorsOptions,
  createProbes,
  createRateLimit,
  noteAnsweredErrors,
  type openRedis,
  type RateLimit,
  toEdge,
  toFirstSegment,
} from '@palaver/service-kit/internal';
import type { FastifyInstance } from 'fastify';
import { toRefusalBody, type WriteError } from './answer.ts';
import { createAskNode } from './ask-node.ts';
import { type Authorize, nameKeys } from './auth.ts';
import { createCache } from './cache.ts';
import type { GatewayConfig } from './config.ts';
import type { Extensions } from './extensions.ts';
import { createHeightFloors } from './height-floors.ts';
import { shownHeightHeader, shownPrefix, toVary } from './metadata.ts';
import { createGatewayMetrics, type GatewayMetrics } from './metrics.ts';
import { type Nodes, openNodes } from './open-nodes.ts';
import { addDocumentRoutes } from './routes/documents.ts';
import {
  createAdmit,
  createFindReply,
  createQueryHandler,
  type QueryHandler,
  type QueryParts,
  queryRoute,
} from './routes/query.ts';
import { addRpcRoutes } from './routes/rpc.ts';
import { createTxHandler } from './routes/tx.ts';
import { createRpcClient, type RpcReply, weighReply } from './rpc/rpc-client.ts';
import { createSubscriptions } from './rpc/subscriptions.ts';

const bodyLimit = 1024; // queries have no body
const txBodyLimit = 1024 * 1024;
/** How long the start waits for the routes, so that the first clients do not find an empty table. */
const firstLoadMs = 1_000;

export interface GatewayParts {
  config: GatewayConfig;
  logger: Logger;
  authorize: Authorize;
  ca?: string | undefined;
  extensions?: Extensions;
  redis?: Awaited<ReturnType<typeof openRedis>> | undefined;
}

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
  server.get('/', async () => ({
    status: 'ok',
    message: 'Palaver query gateway running; see /docs',
    timestamp: new Date().toISOString(),
  }));
  addDocumentRoutes(server, nodes.live);

  const authorize = config.GATEWAY_AUTH === 'api-key' ? nameKeys(parts.authorize, metrics) : parts.authorize;
  const { interceptors = [], matchHeader } = parts.extensions ?? {};
  const writeError = createWriteError(parts);
  const send = interceptors.reduceRight((inner, intercept) => intercept(inner), nodes.upstream.send);
  const ask = createAskNode({ send, metrics, logger, writeError });
  const shared = { config, live: nodes.live, authorize, ask, metrics, writeError, matchHeader };
  const queries = createQueryParts(shared, nodes);
  const handleQuery = createQueryHandler(queries);
  const perMinute = config.GATEWAY_RATE_LIMIT_PER_MINUTE;
  const limits = { name: 'gateway', perMinute, redis };
  const limit = perMinute > 0 ? createRateLimit(limits) : undefined;
  // Spans are made in the routes, and tokens and Redis have to be waited for.
  if (!config.OTEL_ENABLED && config.GATEWAY_AUTH !== 'ucan' && !redis) {
    const { allowedHosts, trustProxy } = toEdge(config);
    const admit = createAdmit({ limit, trustProxy, authorize });
    addReadyReplies(server, {
      find: createFindReply({ ...queries, admit, isPage: (path) => server.pages.has(toFirstSegment(path)) }),
      route: queryRoute,
      logger,
      allowedHosts,
      cors: toCors(config),
    });
  }
  await server.register(async (limited) => {
    if (limit) addRateLimit(limited, { ...limits, limit });
    if (config.GATEWAY_TX) await limited.register(async (scope) => addTx(scope, shared, handleQuery));
    if (config.GATEWAY_RPC)
      await limited.register((scope) =>
        addRpc(scope, config.GATEWAY_RPC ?? '', { ...parts, authorize, metrics, limit }),
      );
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

function createEdge(parts: GatewayParts, { checkHealth }: Nodes): Promise<Server> {
  const { config, logger, redis } = parts;
  const writeError = createWriteError(parts);
  return createServer({
    name: 'gateway',
    logger,
    ...toEdge(config),
    bodyLimit,
    // While a node is asked nothing moves; then the reply has to be read as fast as the request had to arrive.
    idleTimeoutMs: config.GATEWAY_TIMEOUT_MS + config.REQUEST_TIMEOUT_SECONDS * 1_000,
    probes: createProbes({ redis, withoutRedis: 'Rate limits are not enforced.' }),
    cors: toCors(config),
    toErrorBody: (error) => writeError(toRefusalBody(error)),
    health: async () => checkHealth(),
  });
}

function toCors({ CORS_ORIGIN: origins }: GatewayConfig): CorsOptions | undefined {
  return (
    origins && {
      origins,
      extraHeaders: ['x-api-key', heightHeader, minHeightHeader, 'if-none-match'],
      exposedHeaders: [shownHeightHeader, shownPrefix + shownHeightHeader, 'X-Cache', 'ETag', 'Warning'],
    }
  );
}

type Shared = Pick<QueryParts, 'live' | 'authorize' | 'ask' | 'metrics' | 'writeError'> & {
  config: GatewayConfig;
  matchHeader: Extensions['matchHeader'];
};

function createQueryParts({ config, matchHeader, ...shared }: Shared, { cache, upstream }: Nodes): QueryParts {
  // Which headers an extension sends up is not known before they come.
  const isPublic = config.GATEWAY_AUTH === 'none' && !matchHeader;
  const forwardAuth = config.GATEWAY_FORWARD_AUTH;
  const varyOn = [
    ...toVary(config.GATEWAY_AUTH !== 'none', { forwardAuth }),
    ...(config.CORS_ORIGIN ? ['Origin'] : []),
  ];
  return {
    ...shared,
    cache,
    floors: createHeightFloors(() => upstream.chain().height),
    options: {
      timeoutMs: config.GATEWAY_TIMEOUT_MS,
      forwardAuth,
      matchHeader,
      ttlMs: config.GATEWAY_CACHE_TTL_MS,
      isPublic,
      vary: varyOn.join(', '),
    },
  };
}

function addQueries(scope: FastifyInstance, { CORS_ORIGIN }: GatewayConfig, handler: QueryHandler): void {
  // Whatever comes with another method is refused for the method: its body and its type are not looked at.
  scope.addHook('onRequest', async (request, reply) =>
    ['GET', 'HEAD', 'OPTIONS'].includes(request.method) ? undefined : handler(request, reply),
  );
  for (const name of METHODS) if (!scope.supportedMethods.includes(name)) scope.addHttpMethod(name);
  // With CORS on, its plugin has the OPTIONS of every path.
  const method = scope.supportedMethods.filter((name) => name !== 'OPTIONS' || !CORS_ORIGIN);
  scope.route({ method, url: queryRoute, onSend: noteAnsweredErrors, handler });
}

function addTx(scope: FastifyInstance, { config, matchHeader, ...shared }: Shared, otherwise: QueryHandler): void {
  const { GATEWAY_TIMEOUT_MS: timeoutMs, GATEWAY_FORWARD_AUTH: forwardAuth } = config;
  const options = { timeoutMs, forwardAuth, matchHeader };
  scope.post(
    '/cosmos/tx/*',
    { bodyLimit: txBodyLimit, onSend: noteAnsweredErrors },
    createTxHandler({ ...shared, options, otherwise }),
  );
}

async function addRpc(
  scope: FastifyInstance,
  url: string,
  parts: GatewayParts & { metrics: GatewayMetrics; limit: RateLimit | undefined },
): Promise<void> {
  const { config, logger, authorize, metrics, limit } = parts;
  const maxBytes = (config.GATEWAY_CACHE_MB * 1024 * 1024) / 4;
  const cache = createCache<RpcReply>({ maxBytes, weigh: weighReply, staleMs: 0 });
  const subscriptions = createSubscriptions({ rpcUrl: url, logger, metrics });
  scope.addHook('preClose', async () => subscriptions.close());
  await scope.register(websocket, {
    options: { maxPayload: 1024 * 1024 },
    // Clients' faults, such as a frame that is too large; faults of the gateway end in the handler.
    errorHandler(error, socket, request) {
      request.log.debug({ err: error }, 'a socket failed');
      socket.terminate();
    },
  });
  const client = createRpcClient({ url, timeoutMs: config.GATEWAY_TIMEOUT_MS, cache, logger });
  const allowed = new Set(config.GATEWAY_RPC_METHODS);
  addRpcRoutes(scope, { client, allowed, subscriptions, authorize, limit });
}
