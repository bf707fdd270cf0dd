import { Counter, Gauge, type Registry } from 'prom-client';
import type { Cluster } from './cluster/create-cluster.ts';

export type RunCounters = ReturnType<typeof createRunCounters>;

/** What is counted of runs; `addRunMetrics` shows it. */
export function createRunCounters() {
  return {
    notStored: new Counter({
      name: 'agent_answers_not_stored_total',
      help: 'Answers that could not be stored in time; their readers were told that the turn failed.',
      registers: [],
    }),
    swept: new Counter({
      name: 'agent_interrupted_runs_total',
      help: 'Runs of instances that died or stopped, by what became of them.',
      labelNames: ['outcome'] as const,
      registers: [],
    }),
  };
}

export interface RunMetricParts {
  counters: RunCounters;
  cluster: Pick<Cluster, 'clockSkewMs'>;
  countRuns(): number;
}

/** What an operator watches of runs. */
export function addRunMetrics(registry: Registry, { counters, cluster, countRuns }: RunMetricParts): void {
  const registers = [registry];
  registry.registerMetric(counters.notStored);
  registry.registerMetric(counters.swept as Counter);
  new Gauge({
    name: 'agent_live_runs',
    help: 'Runs that this instance carries out or that wait on it.',
    registers,
    collect() {
      this.set(countRuns());
    },
  });
  new Gauge({
    name: 'agent_clock_skew_seconds',
    help: "How far this machine's clock is ahead of the database's.",
    registers,
    collect() {
      this.set(cluster.clockSkewMs() / 1000);
    },
  });
}
