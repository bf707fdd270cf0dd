import { Counter, Gauge, type Registry } from 'prom-client';
import type { Cluster } from './cluster/create-cluster.ts';
import type { TurnHub } from './runs/hub.ts';

export type RunCounters = ReturnType<typeof createRunCounters>;

/** What is counted of runs; `addRunMetrics` shows it. */
export function createRunCounters() {
  return {
    notStored: new Counter({
      name: 'agent_answers_not_stored_total',
      help: 'Answers that could not be stored in time; their readers received a failed turn.',
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
  hub: Pick<TurnHub, 'size' | 'countOverdue'>;
  sweepLagSeconds(): number;
}

/** What an operator watches of runs. */
export function addRunMetrics(registry: Registry, { counters, cluster, hub, sweepLagSeconds }: RunMetricParts): void {
  registry.registerMetric(counters.notStored);
  registry.registerMetric(counters.swept as Counter);
  const add = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  add('agent_live_runs', 'Runs that this instance carries out or that wait on it.', hub.size);
  add('agent_overdue_runs', 'Runs of this instance that should have ended by now.', hub.countOverdue);
  add('agent_sweep_lag_seconds', 'Time since runs of dead instances were last looked for.', sweepLagSeconds);
  add(
    'agent_clock_skew_seconds',
    "How far this machine's clock is ahead of the database's.",
    () => cluster.clockSkewMs() / 1000,
  );
}
