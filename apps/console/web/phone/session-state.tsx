import type { UssdDebugRecord } from '@palaver/contract/internal';
import { useId } from 'react';
import { isRefused } from '../api/call-service.ts';
import { formatTime } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
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
        <Facts record={record.data} />
      )}
    </section>
  );
}

function Facts({ record }: { record: UssdDebugRecord }) {
  const { state, context } = record.debugInfo;
  return (
    <dl className="facts">
      <dt>{t('phone.stateName')}</dt>
      <dd>
        <code>{state}</code>
      </dd>
      <dt>{t('phone.signedIn')}</dt>
      <dd>{t(context.isAuthenticated ? 'phone.yes' : 'phone.no')}</dd>
      <dt>{t('phone.language')}</dt>
      <dd>{context.language}</dd>
      <dt>{t('phone.opened')}</dt>
      <dd>{formatTime(context.startedAt)}</dd>
      <dt>{t('phone.lastSeen')}</dt>
      <dd>{formatTime(context.lastSeenAt)}</dd>
      <dt>{t('phone.sessionId')}</dt>
      <dd>
        <code>{context.sessionId}</code>
      </dd>
    </dl>
  );
}
