// Counts in a plain map that the registry reads: the client library's labels cost more than a cached answer.
import { addGauge, Durations } from '@palaver/service-kit/internal';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { UpstreamStatus } from './upstream/upstream.ts';

export type CacheState = 'hit' | 'miss' | 'shared' | 'stale';

export interface GatewayMetricsOptions {
  registry: Registry;
  cacheBytes(): number;
  routes(): number;
  upstreams(): UpstreamStatus[];
  chain(): { blockAgeSeconds: number | null; halted: boolean };
}

export function createGatewayMetrics({ registry, cacheBytes, routes, upstreams, chain }: GatewayMetricsOptions) {
  const registers = [registry];
  const counts = new Map<string, number>();
  new Counter({
    name: 'gateway_requests_total',
    help: 'Queries by route template, cache state and gRPC code',
    labelNames: ['route', 'cache', 'grpc_code'],
    registers,
    collect() {
      this.reset();
      for (const [key, count] of counts) {
        const [route = '', cache = '', grpcCode = ''] = key.split('\n');
        this.inc({ route, cache, grpc_code: grpcCode }, count);
      }
    },
  });
  const keyRequests = new Counter({
    name: 'gateway_key_requests_total',
    help: 'Queries by the name of the API key',
    labelNames: ['key'],
    registers,
  });
  const refusedSubscriptions = new Counter({
    name: 'gateway_rpc_subscriptions_refused_total',
    help: 'Refused subscriptions: the client has its share, the gateway has none left, or the node refused',
    labelNames: ['reason'],
    registers,
  });
  const upstreamSeconds = new Durations({
    name: 'gateway_upstream_seconds',
    help: 'Time of calls to the nodes, by gRPC method and code',
    labelNames: ['method', 'grpc_code'],
    registry,
  });
  const gauge = (name: string, help: string, read: () => number) => addGauge(registry, name, help, read);
  gauge('gateway_cache_bytes', 'Bytes of kept answers', cacheBytes);
  gauge('gateway_routes', 'Routes served', routes);
  gauge('gateway_block_age_seconds', 'Age of the latest block', () => chain().blockAgeSeconds ?? Number.NaN);
  gauge('gateway_chain_halted', '1 when no block came for GATEWAY_HALTED_AFTER_MS', () => Number(chain().halted));
  const perNode = (name: string, help: string, read: (node: UpstreamStatus) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['address'],
      registers,
      collect() {
        this.reset();
        for (const node of upstreams()) this.set({ address: node.address }, read(node));
      },
    });
  perNode('gateway_upstream_healthy', '1 for nodes that calls are sent to', ({ healthy }) => Number(healthy));
  perNode('gateway_upstream_height', 'The height that a node last reported', ({ height }) => height ?? Number.NaN);
  perNode('gateway_upstream_catching_up', '1 for nodes that are catching up', ({ catchingUp }) => Number(catchingUp));
  new Gauge({
    name: 'gateway_upstream_down_since_seconds',
    help: 'When the connection to a node was lost, and why',
    labelNames: ['address', 'cause'],
    registers,
    collect() {
      this.reset();
      for (const { address, fault } of upstreams())
        if (fault) this.set({ address, cause: fault.cause }, fault.since / 1_000);
    },
  });
  return {
    countRequest(route: string, cache: CacheState, grpcCode: number): void {
      const key = `${route}\n${cache}\n${grpcCode}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    countKey: (key: string) => keyRequests.inc({ key }),
    watchSubscriptions: (count: () => number) => gauge('gateway_rpc_subscriptions', 'Subscriptions at the node', count),
    countRefusedSubscription: (reason: string) => refusedSubscriptions.inc({ reason }),
    observeUpstream: (method: string, grpcCode: number, seconds: number) =>
      upstreamSeconds.count(seconds, method, String(grpcCode)),
  };
}

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;
