import '../styles/operations.css';
import type { UssdReportList, UssdSessionsRecord } from '@palaver/contract/internal';
import { useMutation, useQueries } from '@tanstack/react-query';
import type { KeptAlarm } from '../../src/history/history-store.ts';
import type { WatchedNode } from '../../src/metrics/load.ts';
import {
  isRefused,
  keepOperatorToken,
  type ServiceName,
  sendAsOperator,
  toServicePath,
  useOperatorToken,
} from '../api/call-service.ts';
import { formatMoment, formatMs, formatNumber, formatTime, formatUnit, t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Fault, Link, OperatorSignIn, Panel, Tabs, ViewHead } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';
import { type Figures, type Shown, titleOf, useFigures, watched } from './figures.ts';
import { Chart, drawServices, HistoryPanel } from './history-panel.tsx';
import { LogPage, logPath } from './log-page.tsx';
import { OpenCases } from './open-cases.tsx';
import { AuditLog, RecentErrors, Reports } from './recent-errors.tsx';
import { TracesPage } from './traces-page.tsx';

const pages = ['overview', 'cases', 'traces', 'log', 'audit'] as const;

export function OperationsView() {
  const token = useOperatorToken();
  const wanted = useLocation().searchParams.get('page');
  const page = pages.find((name) => name === wanted) ?? 'overview';
  const { figures, error } = useFigures();
  const refusal = isRefused(error) ? error : undefined;
  const isAlarming = figures.alarms?.some(({ clearedAt }) => clearedAt === null);
  return (
    <>
      <ViewHead title={t('app.operations')} intro={t('operations.intro')} guide="console">
        {token && !refusal && <Button onClick={() => keepOperatorToken('')}>{t('operations.forget')}</Button>}
        <Tabs
          label={t('operations.pages')}
          open={page}
          tabs={pages.map((name) => ({ name, title: t(`operations.${name}`), href: `/operations?page=${name}` }))}
        />
      </ViewHead>
      <div className="stack">
        {!refusal && (page === 'overview' || isAlarming) && <Alarms alarms={figures.alarms ?? []} />}
        {page === 'overview' && <HealthPanel figures={figures} isAlone={error !== undefined} />}
        {refusal ? (
          <section className="panel" aria-label={t('operations.signIn')}>
            <OperatorSignIn message={refusal.message} />
          </section>
        ) : page === 'cases' ? (
          <OpenCases />
        ) : page === 'traces' ? (
          <TracesPage />
        ) : page === 'log' ? (
          <LogPage />
        ) : page === 'audit' ? (
          <AuditLog />
        ) : (
          <Overview figures={figures} />
        )}
      </div>
    </>
  );
}

function Overview({ figures }: { figures: Figures }) {
  return (
    <>
      {figures.refused && figures.refused.length > 0 && <p className="notice notice-warn">{t('history.refused')}</p>}
      <LoadCharts points={figures.load ?? []} />
      <div className="columns">
        <Sessions record={figures.sessions as Shown<UssdSessionsRecord>} />
        <Reports list={figures.reports as Shown<UssdReportList>} />
      </div>
      <RecentErrors figures={figures} />
      <HistoryPanel />
    </>
  );
}

function LoadCharts({ points }: { points: NonNullable<Figures['load']> }) {
  const draw = (at: 0 | 1) => drawServices((service) => points.map(({ rates }) => rates[service]?.[at] ?? undefined));
  const common = { times: points.map(({ time }) => time), formatAxis: formatTime };
  return (
    <div className="columns">
      <Chart
        {...common}
        title={t('operations.requests')}
        series={draw(0)}
        format={(value) => formatNumber(value, value < 10 ? 1 : 0)}
      />
      <Chart
        {...common}
        title={t('operations.latency')}
        series={draw(1)}
        format={(seconds) => formatMs(seconds * 1000)}
      />
    </div>
  );
}

function Sessions({ record }: { record: Shown<UssdSessionsRecord> }) {
  const { activeSessions = [], count = 0 } = record?.refused === undefined ? (record ?? {}) : {};
  return (
    <Panel
      title={t('operations.sessions')}
      beside={<span className="badge numbers">{count}</span>}
      empty={record?.refused ?? (activeSessions.length === 0 && t('operations.noSessions'))}
    >
      <ul className="id-list">
        {activeSessions.map((id) => (
          <li key={id}>
            <code>{id}</code>
          </li>
        ))}
        {count > activeSessions.length && (
          <li className="quiet">{t('operations.moreSessions', { count: count - activeSessions.length })}</li>
        )}
      </ul>
    </Panel>
  );
}

const sayBeyond = ({ kind, value, threshold }: KeptAlarm) => {
  const say = (figure: number) => (kind === 'slow' ? formatMs(figure) : formatNumber(figure));
  return t(`history.beyond-${kind}`, { value: say(value), threshold: say(threshold) });
};

export function Alarms({ alarms }: { alarms: readonly KeptAlarm[] }) {
  const acknowledge = useMutation({
    mutationFn: ({ service, kind }: KeptAlarm) => sendAsOperator('console', '/alarms/acknowledge', { service, kind }),
  });
  const isRaised = alarms.some(({ clearedAt }) => clearedAt === null);
  return (
    <Panel title={t('history.alarms')} className={isRaised ? 'panel-danger' : ''}>
      {alarms.length === 0 && <p className="empty">{t('history.noAlarms')}</p>}
      {acknowledge.error && <Fault error={acknowledge.error} />}
      <ul className="link-list">
        {alarms.map((alarm) => {
          const { service, kind, raisedAt, clearedAt, acknowledgedBy } = alarm;
          const tone = kind === 'slow' ? 'badge-warn' : 'badge-danger';
          return (
            <li key={`${service}${kind}${raisedAt}`}>
              <span className={clearedAt === null ? `badge ${tone}` : 'badge'}>{t(`history.kind-${kind}`)}</span>{' '}
              {t(titleOf(service))} <span className="numbers">{sayBeyond(alarm)}</span>{' '}
              <span className="quiet">
                {clearedAt === null
                  ? t('history.since', { time: formatMoment(raisedAt) })
                  : t('history.until', { start: formatMoment(raisedAt), end: formatMoment(clearedAt) })}
              </span>{' '}
              <Link href={logPath(service)}>{t('operations.log')}</Link>{' '}
              {acknowledgedBy !== null ? (
                <span className="badge">{t('history.acknowledgedBy', { name: acknowledgedBy })}</span>
              ) : (
                clearedAt === null && (
                  <Button small disabled={acknowledge.isPending} onClick={() => acknowledge.mutate(alarm)}>
                    {t('history.acknowledge')}
                  </Button>
                )
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

type Health = Record<string, unknown> & { status?: string; upstreams?: { address: string; healthy: boolean }[] };

export function HealthPanel({ figures, isAlone }: { figures: Figures; isAlone: boolean }) {
  const answers = useQueries({
    queries: watched.map(({ service }) => ({
      queryKey: ['health', service],
      enabled: isAlone,
      refetchInterval: 15_000,
      queryFn: () => loadHealth(service),
    })),
  });
  const healths = watched.map(({ service, title }, index) => ({
    title,
    health: isAlone ? answers[index]?.data : (figures[`health:${service}`] as Health | undefined),
  }));
  // Health is public: only operators see which node it is, and why.
  const nodes: readonly WatchedNode[] = isAlone
    ? healths.flatMap(({ health }) => health?.upstreams ?? [])
    : (figures.nodes ?? []);
  return (
    <ul className="health" aria-label={t('operations.health')}>
      {healths.map(({ title, health }) => (
        <HealthCard key={title} title={t(title)} health={health} />
      ))}
      {nodes.map(({ healthy, ...node }) => (
        <HealthCard
          key={node.address}
          title={t('operations.node')}
          health={{ status: healthy ? 'ok' : 'down', ...node }}
        />
      ))}
    </ul>
  );
}

async function loadHealth(service: ServiceName): Promise<Health> {
  try {
    const response = await fetch(toServicePath(service, '/health'), { cache: 'no-store' });
    const body = (await response.json()) as Health & { code?: string };
    return body.code === 'UNAVAILABLE' ? { status: 'down' } : body;
  } catch {
    return { status: 'down' };
  }
}

function HealthCard({ title, health }: { title: string; health: Health | undefined }) {
  // A gateway that answers is up; its nodes may not be.
  const isUp = health?.upstreams && health.status === 'down';
  const status = isUp ? 'degraded' : (health?.status ?? 'asking');
  const tone =
    status === 'ok' ? 'badge-ok' : status === 'asking' ? '' : status === 'degraded' ? 'badge-warn' : 'badge-danger';
  return (
    <li className="panel health-card">
      <h2>{title}</h2>
      <span className={`badge ${tone}`}>{toWord(status)}</span>
      <p className="quiet small">{toDetails(health)}</p>
    </li>
  );
}

const words = ['ok', 'degraded', 'down', 'asking', 'connected', 'ready', 'building', 'failed'] as const;

function toWord(status: string): string {
  const known = words.find((word) => word === status);
  return known ? t(`operations.${known}`) : status;
}

function toDetails(health: Health | undefined): string {
  if (!health) return '';
  const { uptime, database, height, routes, page, address, cause, since } = health;
  return [
    typeof uptime === 'number' && t('operations.up', { time: toDuration(uptime) }),
    database && t('operations.database', { state: toWord(String(database)) }),
    typeof height === 'number' && t('operations.height', { height }),
    typeof routes === 'number' && t('explorer.routeCount', { count: routes }),
    page && t('operations.page', { state: toWord(String(page)) }),
    address,
    cause,
    typeof since === 'number' && t('history.since', { time: formatMoment(since) }),
  ]
    .filter(Boolean)
    .join(' · ');
}

function toDuration(seconds: number): string {
  if (seconds < 120) return formatUnit(seconds, 'second');
  if (seconds < 7_200) return formatUnit(seconds / 60, 'minute');
  return formatUnit(seconds / 3_600, 'hour');
}
