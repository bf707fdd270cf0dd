import { type Rate, toRate } from '../../src/metrics/load.ts';
import { formatMs, formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Chart, type Series } from './chart.tsx';
import type { Load } from './use-load.ts';
import { watched } from './watched.ts';

const points = 90;

export function LoadCharts({ loads }: { loads: (Load | undefined)[] }) {
  const rates = loads.map(toRates);
  const draw = (pick: (rate: Rate) => number | undefined): Series[] =>
    watched
      .map(({ title, series }, index) => ({ name: t(title), series, values: (rates[index] ?? []).map(pick) }))
      .filter((_, index) => watched[index]?.service !== 'console');
  return (
    <div className="columns">
      <Chart
        title={t('operations.requests')}
        period={t('operations.lastMinutes')}
        series={draw(({ perSecond }) => perSecond)}
        points={points}
        format={(value) => formatNumber(value, value < 10 ? 1 : 0)}
      />
      <Chart
        title={t('operations.latency')}
        period={t('operations.lastMinutes')}
        series={draw(({ p95 }) => p95)}
        points={points}
        format={(seconds) => formatMs(seconds * 1000)}
      />
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
