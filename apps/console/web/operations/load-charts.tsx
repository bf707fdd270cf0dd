import { Chart, type Series } from './chart.tsx';
import { type Rate, toRate } from './load.ts';
import type { Load } from './use-load.ts';
import { watched } from './watched.ts';

const points = 90;

export function LoadCharts({ loads }: { loads: (Load | undefined)[] }) {
  const rates = loads.map(toRates);
  const draw = (pick: (rate: Rate) => number | undefined): Series[] =>
    watched
      .map(({ title, series }, index) => ({ name: title, series, values: (rates[index] ?? []).map(pick) }))
      .filter((_, index) => watched[index]?.service !== 'console');
  return (
    <div className="columns">
      <Chart
        title="Requests a second"
        series={draw(({ perSecond }) => perSecond)}
        points={points}
        format={(value) => value.toFixed(value < 10 ? 1 : 0)}
      />
      <Chart title="Latency, 95th percentile" series={draw(({ p95 }) => p95)} points={points} format={toMs} />
    </div>
  );
}

function toRates(load: Load | undefined): Rate[] {
  const history = load?.history ?? [];
  return history.slice(1).flatMap((snapshot, index) => {
    const before = history[index];
    return before ? [toRate(before, snapshot)] : [];
  });
}

export function toMs(seconds: number): string {
  const ms = seconds * 1000;
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
}
