import type { UssdSessionsRecord } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { callAsOperator } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';

const shown = 20;

export function UssdSessions() {
  const token = useOperatorToken();
  const query = useQuery({
    queryKey: ['ussd-sessions', token],
    // The gateway counts these calls against this machine's limit of 100 a minute, dialling included.
    refetchInterval: 5_000,
    queryFn: async () =>
      (await callAsOperator('ussd-gateway', '/api/ussd/sessions')).json() as Promise<UssdSessionsRecord>,
  });
  const { activeSessions = [], count = 0 } = query.data ?? {};
  return (
    <section className="panel" aria-labelledby="ussd-sessions">
      <div className="panel-head">
        <h2 id="ussd-sessions">{t('operations.sessions')}</h2>
        {query.data && <span className="badge numbers">{count}</span>}
      </div>
      {query.error ? (
        <Fault error={query.error} />
      ) : activeSessions.length === 0 ? (
        <p className="empty">{t('operations.noSessions')}</p>
      ) : (
        <ul className="id-list">
          {activeSessions.slice(0, shown).map((id) => (
            <li key={id}>
              <code>{id}</code>
            </li>
          ))}
          {count > shown && <li className="quiet">{t('operations.moreSessions', { count: count - shown })}</li>}
        </ul>
      )}
    </section>
  );
}
