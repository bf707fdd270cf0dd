import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Logger } from './logger.ts';

const durationName = 'http_request_duration_seconds';

/** The service's own metrics: the process, every request by route and status, and what the service adds to the registry. */
export function addMetrics(server: FastifyInstance, service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: durationName,
    help: 'Time from the arrival of a request to the end of its reply',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const observe = createObserve(duration);
  server.addHook('onResponse', (request, reply, done) => {
    // The route's template, never the path: an unbounded label would grow without end.
    const route = request.routeOptions.url ?? 'unknown';
    observe([request.method, route, String(reply.statusCode)], reply.elapsedTime / 1000);
    done();
  });
  return registry;
}

/** Observes a request that the server's hooks do not see, by method, route and status. */
export function createObserveRequest(registry: Registry): (labels: string[], seconds: number) => void {
  return createObserve(registry.getSingleMetric(durationName) as Histogram);
}

/** Observes values by labels in their order. Each set of labels is looked up once: that costs more than the observation. */
export function createObserve(histogram: Histogram): (labels: string[], value: number) => void {
  const children = new Map<string, ReturnType<typeof histogram.labels>>();
  return (labels, value) => {
    const key = labels.join('\n');
    const child = children.get(key) ?? histogram.labels(...labels);
    children.set(key, child);
    child.observe(value);
  };
}

/** What is shown of a store. */
export interface MeasuredStore {
  stats(): { waiting: number; slow: number };
  cipher: { watchUnreadable(listener: (cell: { table: string; column: string; error: unknown }) => void): void };
}

/** What an alarm on the database needs beside `/health`. */
export function addStoreMetrics(registry: Registry, { stats, cipher }: MeasuredStore, logger: Logger): void {
  new Gauge({
    name: 'database_queries_waiting',
    help: 'Queries that wait for a free connection to the database',
    registers: [registry],
    collect() {
      this.set(stats().waiting);
    },
  });
  new Counter({
    name: 'database_slow_statements_total',
    help: 'Statements that took a second or longer',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(stats().slow);
    },
  });
  const unreadable = new Counter({
    name: 'database_unreadable_cells_total',
    help: 'Encrypted cells that could not be decrypted and were shown as unreadable',
    labelNames: ['table', 'column'],
    registers: [registry],
  });
  const logged = new Set<string>();
  cipher.watchUnreadable(({ table, column, error }) => {
    unreadable.inc({ table, column });
    const place = `${table}.${column}`;
    // The counter has the others.
    if (!logged.has(place)) logger.warn({ err: error, place }, 'a cell cannot be decrypted and is shown as unreadable');
    logged.add(place);
  });
}
