import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react';
import type { History, HistoryPoint, RouteHistory } from '../../src/history/history-store.ts';
import { loadAsOperator, type ServiceName, useOperatorQuery } from '../api/call-service.ts';
import { formatAxis, formatMs, formatNumber, t } from '../i18n/text.ts';
import { ChoiceTabs, Fault, Panel, Table } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';
import { titleOf, watched } from './figures.ts';

const periods = { '1': 'history.hour', '24': 'history.day', '168': 'history.week', '720': 'history.month' } as const;
type Period = keyof typeof periods;

const leastStepMs = 60_000;

export function HistoryPanel() {
  const [hours, setHours] = useState<Period>('24');
  const [zoomed, setZoomed] = useState<{ since: number; until: number }>();
  const period = zoomed ? `since=${zoomed.since}&until=${zoomed.until}` : `hours=${hours}`;
  const { data, error } = useOperatorQuery({
    queryKey: ['history', period],
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
  const draw = (pick: (point: HistoryPoint) => number | null) =>
    drawServices((service) =>
      Array.from({ length: points }, (_, at) => {
        const point = services[service]?.[at];
        return (point && pick(point)) ?? undefined;
      }),
    );
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

const shownRoutes = 8;
const columns = ['operations.count', 'operations.faults', 'operations.median', 'operations.percentile'] as const;

function Routes({ title, routes, by }: { title: string; routes: RouteHistory[]; by(route: RouteHistory): number }) {
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

interface Series {
  name: string;
  series: number;
  values: (number | undefined)[];
}

/** The console has no load of its own. */
export function drawServices(valuesOf: (service: ServiceName) => Series['values']): Series[] {
  const others = watched.filter(({ service }) => service !== 'console');
  return others.map(({ service, title, series }) => ({ name: t(title), series, values: valuesOf(service) }));
}

interface ChartProps {
  title: string;
  series: Series[];
  /** Milliseconds. */
  times: number[];
  format(value: number): string;
  formatAxis(time: number): string;
  onZoom?: ((since: number, until: number) => void) | undefined;
}

const width = 300;
const height = 100;
const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

/** The legend has the values that are pointed at or chosen with the arrow keys, else the latest. Dragging zooms in. */
export function Chart({ title, series, times, format, formatAxis, onZoom }: ChartProps) {
  const heading = useId();
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const last = times.length - 1;
  const shown = at === undefined ? undefined : Math.min(at, last);
  const top = toRound(Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const isEmpty = series.every(({ values }) => values.every((value) => value === undefined));
  const toIndex = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width: whole } = currentTarget.getBoundingClientRect();
    return Math.round(Math.min(Math.max((clientX - left) / whole, 0), 1) * last);
  };
  const toX = (index: number) => (last > 0 ? (index / last) * width : width);
  const figures = series.map(({ name, values }) => [name, toValueText(values, shown, format)] as const);

  function zoom(one: number, other: number): void {
    const [since, until] = [times[Math.min(one, other)], times[Math.max(one, other)]];
    if (since !== undefined && until !== undefined && until > since) onZoom?.(since, until);
  }
  function press(event: KeyboardEvent): void {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max((shown ?? last) + step, 0), last));
  }
  return (
    <figure className="panel chart" aria-labelledby={heading}>
      <figcaption className="panel-head">
        <h2 id={heading}>{title}</h2>
        <span className="quiet small numbers">{shown === undefined ? '' : formatAxis(times[shown] ?? 0)}</span>
        {onZoom && shown !== undefined && (
          <Button small onClick={() => zoom(Math.max(shown - 6, 0), Math.min(shown + 6, last))}>
            {t('history.zoom')}
          </Button>
        )}
      </figcaption>
      <div
        className="plot"
        dir="ltr"
        role="slider"
        tabIndex={0}
        aria-label={t('history.valuesOf', { title })}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={shown ?? Math.max(last, 0)}
        aria-valuetext={[formatAxis(times[shown ?? last] ?? 0), ...figures.map((pair) => pair.join(' '))].join(', ')}
        onKeyDown={press}
        onPointerMove={(event) => setAt(toIndex(event))}
        onPointerLeave={() => {
          setAt(undefined);
          setFrom(undefined);
        }}
        onPointerDown={(event) => setFrom(toIndex(event))}
        onPointerUp={(event) => {
          if (from !== undefined) zoom(from, toIndex(event));
          setFrom(undefined);
        }}
      >
        <span className="plot-top numbers">{isEmpty ? t('operations.firstFigures') : format(top)}</span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <line key={share} className="grid-line" x1="0" x2={width} y1={height * share} y2={height * share} />
          ))}
          {onZoom && from !== undefined && shown !== undefined && (
            <rect
              className="plot-chosen"
              x={toX(Math.min(from, shown))}
              width={Math.abs(toX(from) - toX(shown))}
              height={height}
            />
          )}
          {series.map(({ name, series: colour, values }) => (
            <path key={name} className={`line line-${colour}`} d={toPath(values, top)} />
          ))}
          {shown !== undefined && <line className="plot-cursor" x1={toX(shown)} x2={toX(shown)} y1="0" y2={height} />}
        </svg>
        <p className="plot-axis small quiet numbers" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <span key={share}>{last > 0 && formatAxis(times[Math.round(share * last)] ?? 0)}</span>
          ))}
        </p>
      </div>
      <ul className="legend">
        {figures.map(([name, figure], index) => (
          <li key={name}>
            <i className={`swatch swatch-${series[index]?.series}`} />
            {name} <span className="numbers quiet">{figure}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function toValueText(values: Series['values'], at: number | undefined, format: (value: number) => string): string {
  const value = at === undefined ? values.findLast((other) => other !== undefined) : values[at];
  return value === undefined ? '–' : format(value);
}

/** Breaks where there is no value; a single value is a dot (`h0`). */
export function toPath(values: (number | undefined)[], top: number): string {
  let isDrawing = false;
  return values
    .flatMap((value, index) => {
      if (value === undefined) {
        isDrawing = false;
        return [];
      }
      const isFirst = !isDrawing;
      isDrawing = true;
      const x = values.length > 1 ? (index / (values.length - 1)) * width : width;
      const y = top === 0 ? height : height - (value / top) * height;
      const point = `${x.toFixed(1)} ${y.toFixed(1)}`;
      return isFirst ? `M${point}h0` : `L${point}`;
    })
    .join('');
}

/** The next of 1, 2, 5, 10, 20, 50 …, so that the scale does not change with every point. */
export function toRound(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
