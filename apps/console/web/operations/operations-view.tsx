import { isRefused } from '../api/call-service.ts';
import { keepOperatorToken, useOperatorToken } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import { BusyRoutes } from './busy-routes.tsx';
import { HealthPanel } from './health-panel.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { LoadCharts } from './load-charts.tsx';
import { RecentErrors } from './recent-errors.tsx';
import { Reports } from './reports.tsx';
import { useLoad } from './use-load.ts';
import { UssdSessions } from './ussd-sessions.tsx';
import '../styles/operations.css';

/** Health, load and errors. Health is public; the rest is for operators. */
export function OperationsView() {
  const loads = useLoad();
  const token = useOperatorToken();
  const refusal = loads.find(({ error }) => isRefused(error))?.error;
  return (
    <>
      <div className="view-head">
        <div>
          <h1>{t('app.operations')}</h1>
          <p>{t('operations.intro')}</p>
        </div>
        {token && !refusal && <Button onClick={() => keepOperatorToken('')}>{t('operations.forget')}</Button>}
      </div>
      <div className="stack">
        <HealthPanel />
        {refusal ? (
          <section className="panel" aria-label={t('operations.signIn')}>
            <OperatorSignIn message={refusal.message} />
          </section>
        ) : (
          <>
            <LoadCharts loads={loads.map(({ data }) => data)} />
            <div className="columns">
              <UssdSessions />
              <Reports />
            </div>
            <HistoryPanel />
            <RecentErrors />
            <BusyRoutes loads={loads.map(({ data }) => data)} />
          </>
        )}
      </div>
    </>
  );
}
