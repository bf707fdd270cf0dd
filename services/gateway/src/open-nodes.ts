import type { GatewayHealth } from '@palaver/contract/internal';
import type { CloseStack, Logger } from '@palaver/service-kit';
import { type Answer, weighAnswer } from './answer.ts';
import { createCache } from './cache.ts';
import { type GatewayConfig, toRouteOptions } from './config.ts';
import { createLiveTable, type LiveTable } from './live-table.ts';
import { createBackoff } from './upstream/connection.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

export function openNodes(
  { config, logger, ca }: { config: GatewayConfig; logger: Logger; ca?: string | undefined },
  started: CloseStack,
) {
  const upstream = createUpstream({
    addresses: config.GATEWAY_UPSTREAMS,
    ca,
    maxLagBlocks: config.GATEWAY_MAX_LAG_BLOCKS,
    // A node that is back may be another version of itself.
    onUp: (address, again) => {
      logger.info({ address }, again ? 'node reached again' : 'node reached');
      loadRoutes();
    },
    onDown: (address, { message: cause }, wasReached) =>
      logger.warn({ address, cause }, wasReached ? 'connection to a node lost' : 'node cannot be reached'),
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
    routes: toRouteOptions(config),
    onChange() {
      cache.clear();
      firstLoad.resolve();
    },
  });
  const backoff = createBackoff(firstRetryMs, maxRetryMs);
  let retry: NodeJS.Timeout | undefined;
  started.defer(() => clearTimeout(retry));
  const loadRoutes = () => {
    clearTimeout(retry);
    live.reload().then(backoff.reset, (error: unknown) => {
      logger.warn({ err: error }, 'the routes could not be loaded');
      retry = setTimeout(loadRoutes, backoff.next()).unref();
    });
  };
  const checkHealth = () => readHealth(upstream, live, config.GATEWAY_HALTED_AFTER_MS);
  return { upstream, live, cache, firstLoad: firstLoad.promise, checkHealth };
}

export type Nodes = ReturnType<typeof openNodes>;

function readHealth(upstream: Upstream, live: LiveTable, haltedAfterMs: number) {
  const nodes = upstream.status();
  const isReached = nodes.some(({ reachable }) => reachable);
  const table = live.current()?.table;
  const routes = table?.routes.length ?? 0;
  const { height, blockAgeMs } = upstream.chain();
  const halted = blockAgeMs !== null && blockAgeMs >= haltedAfterMs;
  const isWhole = nodes.every(({ healthy }) => healthy) && routes > 0 && !halted;
  // Without a table no query is answered, even if nodes are reached.
  const status = !isReached || !table ? 'down' : isWhole ? 'ok' : 'degraded';
  const body: GatewayHealth = {
    status,
    height,
    blockAgeSeconds: blockAgeMs === null ? null : Math.floor(blockAgeMs / 1000),
    halted,
    routes,
    // The caller is anonymous, so the addresses of nodes are only in the metrics, which operators read.
    upstreams: nodes.map(({ reachable: _, fault: _cause, ...node }, index) => ({
      ...node,
      address: `node ${index + 1}`,
    })),
    timestamp: new Date().toISOString(),
  };
  return { healthy: status !== 'down', body };
}
