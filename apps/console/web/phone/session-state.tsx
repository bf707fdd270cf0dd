import type { UssdDebugRecord } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { callAsOperator, isRefused, ServiceFault } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import type { PhoneLine } from './use-phone.ts';

/** What the gateway keeps of this session, asked again after every screen. */
export function SessionState({ phone }: { phone: PhoneLine }) {
  const token = useOperatorToken();
  const heading = useId();
  const { sessionId, steps, line } = phone;
  const query = useQuery({
    queryKey: ['ussd-debug', sessionId, steps.length, token],
    enabled: sessionId !== '' && line.status !== 'idle' && steps.length > 0,
    placeholderData: (before) => before,
    queryFn: () => loadState(sessionId),
  });
  return (
    <section className="panel" aria-labelledby={heading}>
      <div className="panel-head">
        <h3 id={heading}>Session state</h3>
        <span className="badge">operators</span>
      </div>
      {isRefused(query.error) ? (
        <OperatorSignIn message="The gateway shows session states to operators only." />
      ) : query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : line.status === 'idle' || query.data === undefined ? (
        <p className="empty">Call a code to see the session the gateway keeps.</p>
      ) : query.data === null ? (
        <p className="empty">The session has ended; the gateway keeps nothing of it in its list.</p>
      ) : (
        <Facts record={query.data} />
      )}
    </section>
  );
}

async function loadState(sessionId: string): Promise<UssdDebugRecord | null> {
  try {
    const reply = await callAsOperator('ussd-gateway', `/api/ussd/debug/${encodeURIComponent(sessionId)}`);
    return (await reply.json()) as UssdDebugRecord;
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 404) return null;
    throw error;
  }
}

function Facts({ record }: { record: UssdDebugRecord }) {
  const { state, context } = record.debugInfo;
  const time = (text: string) => new Date(text).toLocaleTimeString();
  return (
    <dl className="facts">
      <dt>State</dt>
      <dd>
        <code>{state}</code>
      </dd>
      <dt>Signed in</dt>
      <dd>{context.isAuthenticated ? 'yes' : 'no'}</dd>
      <dt>Language</dt>
      <dd>{context.language}</dd>
      <dt>Opened</dt>
      <dd>{time(context.startedAt)}</dd>
      <dt>Last seen</dt>
      <dd>{time(context.lastSeenAt)}</dd>
      <dt>Session id</dt>
      <dd>
        <code>{context.sessionId}</code>
      </dd>
    </dl>
  );
}
