import { useState } from 'react';
import type { History, HistoryPoint, RouteHistory } from '../../src/history/history-store.ts';
import { loadAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { formatAxis, formatMs, formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';
import { ChoiceTabs } from '../ui/tabs.tsx';
import { Chart, type Series } from './chart.tsx';
import { titleOf, watched } from './figures.ts';

const periods = { '1': 'history.hour', '24': 'history.day', '168': 'history.week', '720': 'history.month' } as const;
type Period = keyof typeof periods;

const leastStepMs = 60_000;

/** What the console kept of the services' metrics over hours and days, with the routes that were asked most and took longest. */
export function HistoryPanel() {
  const [hours, setHours] = useState<Period>('24');
  const [zoomed, setZoomed] = useState<{ since: number; until: number }>();
  const period = zoomed ? `since=${zoomed.since}&until=${zoomed.until}` : `hours=${hours}`;
  const { data, error } = useOperatorQuery({
    queryKey: ['history', period],
    // There is a new point once a step is over.
    refetchInterval: ({ state }) => (zoomed ? false : ((state.data as History | undefined)?.stepMs ?? leastStepMs)),
    placeholderData: (before) => before,
    queryFn: () => loadAsOperator<History>('console', `/history?${period}`),
  });
  return (
    <section className="stack" aria-labelledby="history">
      <div className="panel-head">
        <h2 id="history">{t('history.title')}</h2>
        {zoomed && <Button onClick={() => setZoomed(undefined)}>{t('history.zoomOut')}</Button>}
        <ChoiceTabs
          label={t('history.title')}
          chosen={hours}
          choices={Object.entries(periods).map(([name, title]) => [name as Period, t(title)])}
          onChoose={(name) => {
            setHours(name);
            setZoomed(undefined);
          }}
        />
      </div>
      {error && <Fault error={error} />}
      {data && <HistoryCharts history={data} onZoom={(since, until) => setZoomed({ since, until })} />}
      {data && <Routes title={t('history.slow-routes')} routes={data.routes} by={({ p95 }) => p95 ?? 0} />}
      {data && <Routes title={t('operations.busiest')} routes={data.routes} by={({ count }) => count} />}
    </section>
  );
}

function HistoryCharts({ history, onZoom }: { history: History; onZoom(since: number, until: number): void }) {
  const { services, stepMs, start } = history;
  const points = Math.max(1, ...Object.values(services).map((values) => values.length));
  const draw = (pick: (point: HistoryPoint) => number | null): Series[] =>
    watched
      .filter(({ service }) => service !== 'console')
      .map(({ service, title, series }) => ({
        ...{ name: t(title), series },
        values: Array.from({ length: points }, (_, at) => {
          const point = services[service]?.[at];
          return (point && pick(point)) ?? undefined;
        }),
      }));
  const common = {
    times: Array.from({ length: points }, (_, at) => start + at * stepMs),
    formatAxis: (time: number) => formatAxis(time, points * stepMs),
    onZoom: (since: number, until: number) => onZoom(since, Math.max(until, since + 10 * leastStepMs)),
  };
  return (
    <div className="columns columns-three">
      <Chart
        {...common}
        title={t('history.requests')}
        series={draw(([perSecond]) => perSecond)}
        format={(value) => formatNumber(value, 2)}
      />
      <Chart
        {...common}
        title={t('history.faults')}
        series={draw(([, faultShare]) => faultShare * 100)}
        format={(value) => `${formatNumber(value, 1)} %`}
      />
      <Chart
        {...common}
        title={t('history.latency')}
        series={draw(([, , p95]) => p95)}
        format={(seconds) => formatMs(seconds * 1000)}
      />
    </div>
  );
}

interface RoutesProps {
  title: string;
  routes: RouteHistory[];
  by(route: RouteHistory): number;
}

const shownRoutes = 8;
const columns = ['operations.count', 'operations.faults', 'operations.median', 'operations.percentile'] as const;

/** Routes with how often they were asked, how often they failed and how long they took. */
function Routes({ title, routes, by }: RoutesProps) {
  const rows = routes.toSorted((a, b) => by(b) - by(a)).slice(0, shownRoutes);
  return (
    <Panel title={title} empty={rows.length === 0 && t('operations.nothingAsked')}>
      <Table
        label={title}
        heads={[t('operations.service'), t('operations.route'), ...columns.map((column): [string] => [t(column)])]}
      >
        {rows.map(({ service, route, count, faults, p50, p95 }) => (
          <tr key={`${service}${route}`}>
            <td>{t(titleOf(service))}</td>
            <td>
              <code>{route}</code>
            </td>
            {[formatNumber(count), formatNumber(faults), toFigure(p50), toFigure(p95)].map((figure, at) => (
              <td key={columns[at]} className="number">
                {figure}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

const toFigure = (seconds: number | null) => (seconds === null ? '–' : formatMs(seconds * 1000));
