import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Logger } from './logger.ts';

/** Milliseconds until the first byte of a stream, by its reply. */
const beginnings = new WeakMap<FastifyReply, number>();

const durationName = 'http_request_duration_seconds';

export function createMetrics(service: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const durations = new Durations({
    name: durationName,
    help: 'Time from the arrival of a request to the end of its reply, or to the first byte of a stream',
    labelNames: ['method', 'route', 'status'],
    registry,
  });
  const countReply = (request: FastifyRequest, reply: FastifyReply) => {
    // The route's template, never the path: an unbounded label would grow without end.
    const route = request.routeOptions.url ?? 'unknown';
    const elapsedMs = beginnings.get(reply) ?? reply.elapsedTime;
    durations.count(elapsedMs / 1000, request.method, route, String(reply.statusCode));
  };
  return { registry, countReply };
}

/** Counts a reply by its first byte, which is sent now: a reader decides how long a stream lasts. */
export function countAsStream(reply: FastifyReply): void {
  beginnings.set(reply, reply.elapsedTime);
}

/** For requests that the server's hooks do not see. */
export function requestDurations(registry: Registry): Durations {
  return registry.getSingleMetric(durationName) as Durations;
}

export function addGauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

interface MeasuredStore {
  stats(): { waiting: number; slow: number };
  cipher: { watchUnreadable(listener: (cell: { table: string; column: string; error: unknown }) => void): void };
}

export function addStoreMetrics(registry: Registry, { stats, cipher }: MeasuredStore, logger: Logger): void {
  const waiting = 'Queries that wait for a free connection to the database';
  addGauge(registry, 'database_queries_waiting', waiting, () => stats().waiting);
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
    // The log has the first cell of a column; the counter has all.
    if (!logged.has(place)) logger.warn({ err: error, place }, 'a cell cannot be decrypted and is shown as unreadable');
    logged.add(place);
  });
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  labels: Record<string, string>;
  /** How many each bucket holds; those beyond the last bound are in `count` alone. */
  counts: number[];
  sum: number;
  count: number;
}

interface DurationsOptions {
  name: string;
  help: string;
  labelNames?: string[];
  registry: Registry;
}

/** Counts without the library, which checks and hashes the labels of every value: that costs more than a cached reply. */
export class Durations extends Histogram {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: DurationsOptions) {
    const { name, help, labelNames = [], registry } = options;
    super({ name, help, labelNames, buckets: bounds, registers: [registry] });
    this.#options = options;
  }

  count(value: number, ...labels: string[]): void {
    const series = this.#seriesOf(labels);
    series.sum += value;
    series.count += 1;
    const bucket = bounds.findIndex((bound) => value <= bound);
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  }

  #seriesOf(values: string[]): Series {
    const key = values.join('\n');
    const known = this.#series.get(key);
    if (known) return known;
    const names = this.#options.labelNames ?? [];
    const labels = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
    const series = { labels, counts: bounds.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, series);
    return series;
  }

  async getForPromString() {
    const { name, help } = this.#options;
    const values = [...this.#series.values()].flatMap(({ labels: sharedLabels, counts, sum, count }) => {
      const line = (suffix: string, value: number, labels = {}) => ({
        metricName: `${name}_${suffix}`,
        labels,
        sharedLabels,
        value,
      });
      let below = 0;
      const buckets = bounds.map((le, index) => {
        below += counts[index] ?? 0;
        return line('bucket', below, { le });
      });
      return [...buckets, line('bucket', count, { le: '+Inf' }), line('sum', sum), line('count', count)];
    });
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
