import '../styles/phone.css';
import type { UssdDebugRecord } from '@palaver/contract/internal';
import { useId, useState } from 'react';
import { isRefused, loadAsOperator, ServiceFault, useOperatorQuery } from '../api/call-service.ts';
import { formatTime, t } from '../i18n/text.ts';
import { Facts, Fault, OperatorSignIn, Panel, ViewHead } from '../ui/content.tsx';
import { Button, InputField } from '../ui/controls.tsx';
import { Handset, Transcript } from './handset.tsx';
import { Thread } from './thread.tsx';
import { type PhoneLine, usePhone } from './use-phone.ts';

export function PhoneView() {
  const [hasSecond, setSecond] = useState(false);
  const [hasThread, setThread] = useState(false);
  return (
    <>
      <ViewHead title={t('app.phone')} intro={t('phone.intro')} guide="ussd">
        <div className="actions">
          <Button
            text={t('phone.texts')}
            icon={hasThread ? 'close' : 'chat'}
            aria-pressed={hasThread}
            onClick={() => setThread(!hasThread)}
          />
          <Button
            text={t(hasSecond ? 'phone.one' : 'phone.second')}
            icon={hasSecond ? 'close' : 'plus'}
            aria-pressed={hasSecond}
            onClick={() => setSecond(!hasSecond)}
          />
        </div>
      </ViewHead>
      <div className={hasSecond ? 'stations stations-two' : 'stations'}>
        <PhoneStation name={t('phone.name', { letter: 'A' })} initialNumber="+254700000001" hasThread={hasThread} />
        {hasSecond && (
          <PhoneStation name={t('phone.name', { letter: 'B' })} initialNumber="+254700000002" hasThread={hasThread} />
        )}
      </div>
    </>
  );
}

function PhoneStation({ name, initialNumber, hasThread }: { name: string; initialNumber: string; hasThread: boolean }) {
  const [phoneNumber, setPhoneNumber] = useState(initialNumber);
  const [secret, setSecret] = useState('');
  const phone = usePhone({ phoneNumber, secret });
  const record = useSessionRecord(phone);
  const heading = useId();
  return (
    <section className="station" aria-labelledby={heading}>
      <h2 id={heading} className="visually-hidden">
        {name}
      </h2>
      <div className="station-phone">
        <InputField
          label={t('phone.number', { name })}
          type="tel"
          value={phoneNumber}
          onChange={setPhoneNumber}
          pattern="\+[1-9]\d{6,14}"
        />
        <Handset name={name} phone={phone} language={record.data?.debugInfo.context.language} />
        <details className="station-more">
          <summary>{t('phone.secret')}</summary>
          <InputField
            label={t('phone.secretField')}
            type="password"
            autoComplete="off"
            value={secret}
            onChange={setSecret}
          />
        </details>
      </div>
      <div className="station-side">
        {hasThread && (
          <Panel level={3} title={t('phone.texts')}>
            <Thread name={t('phone.textsOf', { name })} caller={{ phoneNumber, secret }} />
          </Panel>
        )}
        <Transcript name={name} phone={phone} />
        <SessionState status={phone.line.status} record={record} />
      </div>
    </section>
  );
}

export function SessionState({ status, record }: { status: PhoneLine['line']['status']; record: SessionRecord }) {
  return (
    <Panel level={3} title={t('phone.state')} beside={<span className="badge">{t('phone.operators')}</span>}>
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
    </Panel>
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

/** Asked again after every screen; null once the session has ended. */
export function useSessionRecord({ sessionId, steps, line }: PhoneLine) {
  const isOver = line.status === 'ended';
  const query = useOperatorQuery({
    queryKey: ['ussd-debug', sessionId, steps.length],
    enabled: sessionId !== '' && line.status !== 'idle' && !isOver && steps.length > 0,
    placeholderData: (before) => before,
    queryFn: () => loadRecord(sessionId),
  });
  return { error: query.error, data: isOver ? null : query.data };
}

export type SessionRecord = ReturnType<typeof useSessionRecord>;

async function loadRecord(sessionId: string): Promise<UssdDebugRecord | null> {
  try {
    return await loadAsOperator('ussd-gateway', `/api/ussd/debug/${encodeURIComponent(sessionId)}`);
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 404) return null;
    throw error;
  }
}
