import type { UssdSessionsRecord } from '@palaver/contract/internal';
import { loadAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { Panel } from '../ui/panel.tsx';

const shown = 20;

export function UssdSessions() {
  const query = useOperatorQuery({
    queryKey: ['ussd-sessions'],
    // The gateway counts these calls against this machine's limit of 100 a minute, dialling included.
    refetchInterval: 5_000,
    queryFn: () => loadAsOperator<UssdSessionsRecord>('ussd-gateway', '/api/ussd/sessions'),
  });
  const { activeSessions = [], count = 0 } = query.data ?? {};
  return (
    <Panel
      title={t('operations.sessions')}
      beside={query.data ? <span className="badge numbers">{count}</span> : null}
      empty={!query.error && activeSessions.length === 0 && t('operations.noSessions')}
    >
      {query.error ? (
        <Fault error={query.error} />
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
    </Panel>
  );
}
