import { useState } from 'react';
import type { History, HistoryPoint, KeptAlarm } from '../../src/history/history-store.ts';
import { loadAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { formatMoment, formatMs, formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { Panel } from '../ui/panel.tsx';
import { Chart, type Series } from './chart.tsx';
import { RouteTable } from './route-table.tsx';
import { watched } from './watched.ts';

const periods = [
  { hours: 1, label: 'history.hour' },
  { hours: 24, label: 'history.day' },
  { hours: 168, label: 'history.week' },
  { hours: 720, label: 'history.month' },
] as const;

/** What the console kept of the services' metrics over hours and days, with the alarms and slow routes of that time. */
export function HistoryPanel() {
  const [period, setPeriod] = useState<(typeof periods)[number]>(periods[1]);
  const query = useOperatorQuery({
    queryKey: ['history', period.hours],
    refetchInterval: 15_000,
    placeholderData: (before) => before,
    queryFn: () => loadAsOperator<History & { refused: string[] }>('console', `/history?hours=${period.hours}`),
  });
  return (
    <section className="stack" aria-labelledby="history">
      <div className="panel-head">
        <h2 id="history">{t('history.title')}</h2>
        <div className="tabs">
          {periods.map((choice) => (
            <button
              key={choice.hours}
              type="button"
              aria-pressed={choice.hours === period.hours}
              onClick={() => setPeriod(choice)}
            >
              {t(choice.label)}
            </button>
          ))}
        </div>
      </div>
      {query.error && <Fault error={query.error} />}
      {query.data && query.data.refused.length > 0 && <p className="notice notice-warn">{t('history.refused')}</p>}
      {query.data && <HistoryCharts history={query.data} period={t(period.label)} />}
      {query.data && <Alarms alarms={query.data.alarms} />}
      {query.data && <SlowRoutes history={query.data} />}
    </section>
  );
}

function HistoryCharts({ history, period }: { history: History; period: string }) {
  const { services, stepMs, start } = history;
  const points = Math.max(1, ...Object.values(services).map((values) => values.length));
  const draw = (pick: (point: HistoryPoint) => number | undefined): Series[] =>
    watched
      .filter(({ service }) => service !== 'console')
      .map(({ service, title, series }) => ({
        ...{ name: t(title), series },
        values: (services[service] ?? []).map((point) => (point ? pick(point) : undefined)),
      }));
  const common = { period: `${period} · ${formatMoment(start)} +${formatNumber(stepMs / 60_000)} min`, points };
  return (
    <div className="columns columns-three">
      <Chart
        {...common}
        title={t('history.requests')}
        series={draw(({ perSecond }) => perSecond)}
        format={(value) => formatNumber(value, 2)}
      />
      <Chart
        {...common}
        title={t('history.faults')}
        series={draw(({ faultShare }) => faultShare * 100)}
        format={(value) => `${formatNumber(value, 1)} %`}
      />
      <Chart
        {...common}
        title={t('history.latency')}
        series={draw(({ p95 }) => p95)}
        format={(seconds) => formatMs(seconds * 1000)}
      />
    </div>
  );
}

const tones = { down: 'badge badge-danger', faults: 'badge badge-danger', slow: 'badge badge-warn' };

function Alarms({ alarms }: { alarms: KeptAlarm[] }) {
  return (
    <Panel title={t('history.alarms')}>
      {alarms.length === 0 && <p className="empty">{t('history.noAlarms')}</p>}
      <ul className="link-list">
        {alarms.map(({ service, kind, value, threshold, raisedAt, clearedAt }) => (
          <li key={`${service}${kind}${raisedAt}`}>
            <span className={clearedAt === null ? tones[kind] : 'badge'}>{t(`history.${kind}`)}</span>{' '}
            {t(watched.find((known) => known.service === service)?.title ?? 'service.console')}{' '}
            <span className="numbers">{t('history.beyond', { value: Math.round(value), threshold })}</span>{' '}
            <span className="quiet">
              {clearedAt === null
                ? t('history.since', { time: formatMoment(raisedAt) })
                : t('history.until', { start: formatMoment(raisedAt), end: formatMoment(clearedAt) })}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function SlowRoutes({ history }: { history: History }) {
  const rows = history.slowRoutes.map(({ service, ...route }) => ({
    ...route,
    title: watched.find((known) => known.service === service)?.title ?? ('service.console' as const),
  }));
  return (
    <Panel title={t('history.slow-routes')} empty={rows.length === 0 && t('operations.nothingAsked')}>
      <RouteTable label={t('history.slow-routes')} rows={rows} />
    </Panel>
  );
}
