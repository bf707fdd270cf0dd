import type { GatewayHealth } from '@palaver/contract';
import type { LatestHeight } from './latest-height.ts';
import type { LiveTable } from './live-table.ts';
import type { Upstream } from './upstream.ts';

export interface HealthParts {
  upstream: Upstream;
  live: LiveTable;
  latestHeight: LatestHeight;
}

/** What `GET /health` says. */
export async function readHealth({ upstream, live, latestHeight }: HealthParts) {
  const upstreams = upstream.status();
  const up = upstreams.filter(({ healthy }) => healthy).length;
  const table = live.current()?.table;
  const routes = table?.routes.length ?? 0;
  // Without a table no query is answered, whoever is reached.
  const status = up === 0 || !table ? 'down' : up < upstreams.length || routes === 0 ? 'degraded' : 'ok';
  const height = await latestHeight.read();
  const body: GatewayHealth = { status, height, routes, upstreams, timestamp: new Date().toISOString() };
  return { healthy: status !== 'down', body };
}
