import type { UssdSessionsRecord } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { callAsOperator } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';

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
        <h2 id="ussd-sessions">Active USSD sessions</h2>
        {query.data && <span className="badge numbers">{count}</span>}
      </div>
      {query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : activeSessions.length === 0 ? (
        <p className="empty">Nobody is in a session at the moment.</p>
      ) : (
        <ul className="id-list">
          {activeSessions.slice(0, shown).map((id) => (
            <li key={id}>
              <code>{id}</code>
            </li>
          ))}
          {count > shown && <li className="quiet">and {count - shown} more</li>}
        </ul>
      )}
    </section>
  );
}
