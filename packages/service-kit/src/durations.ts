import { Histogram, type Registry } from 'prom-client';

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The values of one set of labels. */
interface Series {
  labels: Record<string, string>;
  /** How many each bucket holds; those beyond the last bound are in `count` alone. */
  counts: number[];
  sum: number;
  count: number;
}

export interface DurationsOptions {
  name: string;
  help: string;
  labelNames?: string[];
  registry: Registry;
}

/**
 * A histogram of seconds that counts without the library, which checks and hashes the labels of every value: that costs
 * more than a reply from a cache.
 */
export class Durations extends Histogram {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: DurationsOptions) {
    const { name, help, labelNames = [], registry } = options;
    super({ name, help, labelNames, buckets: bounds, registers: [registry] });
    this.#options = options;
  }

  /** Counts a value by its labels, in the order of their names. */
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

  /** What the library reads, for its text and its JSON. */
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
