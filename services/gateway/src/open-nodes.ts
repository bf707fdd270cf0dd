import type { CloseStack, Logger } from '@palaver/service-kit';
import { type Answer, weighAnswer } from './answer.ts';
import { type Cache, createCache } from './cache.ts';
import { type GatewayConfig, toRouteOptions } from './config.ts';
import { createLiveTable, type LiveTable } from './live-table.ts';
import { readHealth } from './read-health.ts';
import { createBackoff } from './upstream/backoff.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

/** The nodes, the routes they offer and the answers that are kept. */
export interface Nodes {
  upstream: Upstream;
  live: LiveTable;
  cache: Cache<Answer>;
  /** Resolves when routes are known for the first time. */
  firstLoad: Promise<void>;
  checkHealth(): ReturnType<typeof readHealth>;
}

export interface NodesOptions {
  config: GatewayConfig;
  logger: Logger;
  /** Certificates for `tls://` nodes. */
  ca?: string | undefined;
}

const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

export function openNodes({ config, logger, ca }: NodesOptions, started: CloseStack): Nodes {
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
  const checkHealth = () => readHealth({ upstream, live, haltedAfterMs: config.GATEWAY_HALTED_AFTER_MS });
  return { upstream, live, cache, firstLoad: firstLoad.promise, checkHealth };
}
