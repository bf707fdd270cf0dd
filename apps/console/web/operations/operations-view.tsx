import type { UssdReportList, UssdSessionsRecord } from '@palaver/contract/internal';
import { isRefused } from '../api/call-service.ts';
import { keepOperatorToken, useOperatorToken } from '../api/operator-token.ts';
import { formatMs, formatNumber, formatTime } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Button } from '../ui/button.tsx';
import { GuideLink } from '../ui/guide-link.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import { Panel } from '../ui/panel.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Alarms } from './alarms.tsx';
import { AuditLog } from './audit-log.tsx';
import { Chart, type Series } from './chart.tsx';
import { type Figures, type Shown, useFigures, watched } from './figures.ts';
import { HealthPanel } from './health-panel.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { OpenCases } from './open-cases.tsx';
import { RecentErrors } from './recent-errors.tsx';
import { Reports } from './reports.tsx';
import '../styles/operations.css';

const pages = ['overview', 'cases', 'audit'] as const;

/** Health, load and errors, what waits for a decision, and the audit log. Health is public; the rest is for operators. */
export function OperationsView() {
  const token = useOperatorToken();
  const wanted = useLocation().searchParams.get('page');
  const page = pages.find((name) => name === wanted) ?? 'overview';
  const { figures, error } = useFigures();
  const refusal = isRefused(error) ? error : undefined;
  const isAlarming = figures.alarms?.some(({ clearedAt }) => clearedAt === null);
  return (
    <>
      <div className="view-head">
        <div>
          <h1>{t('app.operations')}</h1>
          <p>
            {t('operations.intro')} <GuideLink name="console" />
          </p>
        </div>
        {token && !refusal && <Button onClick={() => keepOperatorToken('')}>{t('operations.forget')}</Button>}
        <Tabs
          label={t('operations.pages')}
          open={page}
          tabs={pages.map((name) => ({ name, title: t(`operations.${name}`), href: `/operations?page=${name}` }))}
        />
      </div>
      <div className="stack">
        {!refusal && (page === 'overview' || isAlarming) && <Alarms alarms={figures.alarms ?? []} />}
        {page === 'overview' && <HealthPanel figures={figures} isAlone={error !== undefined} />}
        {refusal ? (
          <section className="panel" aria-label={t('operations.signIn')}>
            <OperatorSignIn message={refusal.message} />
          </section>
        ) : page === 'cases' ? (
          <OpenCases />
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
  const draw = (at: 0 | 1): Series[] =>
    watched
      .filter(({ service }) => service !== 'console')
      .map(({ service, title, series }) => ({
        ...{ name: t(title), series },
        values: points.map(({ rates }) => rates[service]?.[at] ?? undefined),
      }));
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
