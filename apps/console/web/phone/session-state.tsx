import type { UssdDebugRecord } from '@palaver/contract/internal';
import { useId } from 'react';
import { isRefused } from '../api/call-service.ts';
import { formatTime } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import { Facts } from '../ui/panel.tsx';
import type { PhoneLine } from './use-phone.ts';
import type { SessionRecord } from './use-session-record.ts';

interface SessionStateProps {
  status: PhoneLine['line']['status'];
  record: SessionRecord;
}

/** What the gateway keeps of this session. */
export function SessionState({ status, record }: SessionStateProps) {
  const heading = useId();
  return (
    <section className="panel" aria-labelledby={heading}>
      <div className="panel-head">
        <h3 id={heading}>{t('phone.state')}</h3>
        <span className="badge">{t('phone.operators')}</span>
      </div>
      {isRefused(record.error) ? (
        <OperatorSignIn message={t('phone.operatorsOnly')} />
      ) : record.error ? (
        <Fault error={record.error} />
      ) : status === 'idle' || record.data === undefined ? (
        <p className="empty">{t('phone.noState')}</p>
      ) : record.data === null ? (
        <p className="empty">{t('phone.stateGone')}</p>
      ) : (
        <RecordFacts record={record.data} />
      )}
    </section>
  );
}

function RecordFacts({ record }: { record: UssdDebugRecord }) {
  const { state, context } = record.debugInfo;
  return (
    <Facts
      rows={[
        [t('phone.stateName'), <code key="state">{state}</code>],
        [t('phone.signedIn'), t(context.isAuthenticated ? 'phone.yes' : 'phone.no')],
        [t('phone.language'), context.language],
        [t('phone.opened'), formatTime(context.startedAt)],
        [t('phone.lastSeen'), formatTime(context.lastSeenAt)],
        [t('phone.sessionId'), <code key="id">{context.sessionId}</code>],
      ]}
    />
  );
}
