import type { GatewayHealth } from '@palaver/contract/internal';
import type { LiveTable } from './live-table.ts';
import type { Upstream } from './upstream/upstream.ts';

export interface HealthParts {
  upstream: Upstream;
  live: LiveTable;
  /** A chain without a new block for this long is halted. */
  haltedAfterMs: number;
}

/** What `GET /health` says. */
export function readHealth({ upstream, live, haltedAfterMs }: HealthParts) {
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
    // Whoever asks is not known: the addresses of nodes are in the metrics, which operators read.
    upstreams: nodes.map(({ reachable: _, ...node }, index) => ({ ...node, address: `node ${index + 1}` })),
    timestamp: new Date().toISOString(),
  };
  return { healthy: status !== 'down', body };
}
