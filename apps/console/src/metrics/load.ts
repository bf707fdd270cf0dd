/** Each bucket counts the requests that took at most so many seconds. */
export interface RouteLoad {
  method: string;
  route: string;
  count: number;
  faults: number;
  buckets: Map<number, number>;
}

export interface Snapshot {
  /** Milliseconds. */
  time: number;
  routes: Map<string, RouteLoad>;
}

const metric = 'http_request_duration_seconds';
// This page and probes ask for these all the time; they would drown what users do.
const probes = new Set(['/health', '/ready', '/metrics', '/metrics/errors', '/metrics/log']);

export function toSnapshot(samples: Sample[], time: number): Snapshot {
  const routes = new Map<string, RouteLoad>();
  for (const { name, labels, value } of samples) {
    const { method = '', route = '', status = '', le } = labels;
    if (!name.startsWith(metric) || probes.has(route)) continue;
    const key = `${method} ${route}`;
    const load = routes.get(key) ?? { method, route, count: 0, faults: 0, buckets: new Map<number, number>() };
    routes.set(key, load);
    if (name === `${metric}_count`) {
      load.count += value;
      if (status.startsWith('5')) load.faults += value;
    } else if (name === `${metric}_bucket` && le !== undefined) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      load.buckets.set(bound, (load.buckets.get(bound) ?? 0) + value);
    }
  }
  return { time, routes };
}

/** A service that restarted in between counts from zero. */
export function toDeltas(before: Snapshot, after: Snapshot): RouteLoad[] {
  const hasRestarted = sumUp([...after.routes.values()]).count < sumUp([...before.routes.values()]).count;
  return [...after.routes].map(([key, load]) => {
    const since = hasRestarted ? undefined : before.routes.get(key);
    return {
      ...load,
      count: load.count - (since?.count ?? 0),
      faults: load.faults - (since?.faults ?? 0),
      buckets: new Map([...load.buckets].map(([bound, count]) => [bound, count - (since?.buckets.get(bound) ?? 0)])),
    };
  });
}

export type Total = Pick<RouteLoad, 'count' | 'faults' | 'buckets'>;

export function sumUp(loads: readonly Total[]): Total {
  const total: Total = { count: 0, faults: 0, buckets: new Map() };
  for (const { count, faults, buckets } of loads) {
    total.count += count;
    total.faults += faults;
    for (const [bound, value] of buckets) total.buckets.set(bound, (total.buckets.get(bound) ?? 0) + value);
  }
  return total;
}

/** Spreads values evenly inside their bucket, as Prometheus does. */
export function toQuantile(buckets: ReadonlyMap<number, number>, quantile: number): number | undefined {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = quantile * total;
  let [lower, below] = [0, 0];
  for (const [upper, count] of sorted) {
    if (count >= rank && count > below) {
      if (upper === Number.POSITIVE_INFINITY) return lower;
      return lower + (upper - lower) * ((rank - below) / (count - below));
    }
    [lower, below] = [upper, count];
  }
  return lower;
}

/** Three digits are as many as anyone reads off a chart. */
export function round(value: number): number;
export function round(value: number | undefined): number | null;
export function round(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(3));
}

/** A protocol node that the query gateway asks; `since` in milliseconds. */
export interface WatchedNode {
  address: string;
  healthy: boolean;
  cause?: string;
  since?: number;
}

export function listNodes(samples: Sample[]): WatchedNode[] {
  const find = (wanted: string) => samples.filter(({ name }) => name === wanted);
  const faults = find('gateway_upstream_down_since_seconds');
  return find('gateway_upstream_healthy').map(({ labels: { address = '' }, value }) => {
    const fault = faults.find(({ labels }) => labels.address === address);
    const reason = fault && { cause: fault.labels.cause ?? '', since: fault.value * 1_000 };
    return { address, healthy: value === 1, ...reason };
  });
}

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parsePrometheus(text: string): Sample[] {
  return text.split('\n').flatMap((row) => {
    const match = row.startsWith('#') ? null : line.exec(row.trim());
    if (!match?.[1] || match[3] === undefined) return [];
    const labels: Record<string, string> = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(label)) if (name) labels[name] = unescapeLabel(value ?? '');
    return [{ name: match[1], labels, value: toNumber(match[3]) }];
  });
}

function unescapeLabel(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}
