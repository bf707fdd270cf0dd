import { useState } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatUtc, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import type { ListedPrograms } from '../programs/program-api.ts';
import { Panel } from '../ui/content.tsx';
import { Button, Form, InputField } from '../ui/controls.tsx';
import { type CallerKey, CallerView, callersApi } from './caller-view.tsx';
import '../styles/results.css';
import '../styles/callers.css';

export function CallersPage({ role }: { role: ListedPrograms['role'] }) {
  const reference = useLocation().searchParams.get('caller');
  const [number, setNumber] = useState('');
  // A number that was typed stays out of the address and its history.
  const [typed, setTyped] = useState('');
  const key: CallerKey | undefined = reference ? { caller: reference } : typed ? { phoneNumber: typed } : undefined;
  if (role === 'viewer') return <p className="notice">{t('callers.mayNot')}</p>;
  function open(phoneNumber: string): void {
    setTyped(phoneNumber);
    navigate('/programs?callers=one');
  }
  return (
    <div className="callers">
      <Form className="find-caller" onSubmit={() => open(number.replace(/[\s().-]/g, ''))}>
        <InputField
          label={t('callers.number')}
          required
          type="tel"
          autoComplete="off"
          placeholder="+254700000001"
          dir="ltr"
          pattern="\+[0-9 \(\)\.\-]{7,25}"
          value={number}
          onChange={setNumber}
        />
        <Button text={t('callers.find')} type="submit" main />
      </Form>
      {key ? (
        <CallerView key={JSON.stringify(key)} callerKey={key} isAdmin={role === 'admin'} onClose={() => open('')} />
      ) : (
        <Recent />
      )}
    </div>
  );
}

function Recent() {
  const query = useOperatorQuery({ queryKey: ['callers'], queryFn: callersApi.recent, refetchInterval: 30_000 });
  return (
    <Panel title={t('callers.recent')}>
      {query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : query.data?.callers.length === 0 ? (
        <p className="empty">{t('callers.noneRecent')}</p>
      ) : (
        <ul className="recent-callers">
          {query.data?.callers.map(({ caller, maskedNumber, serviceCode, seenAt }) => (
            <li key={caller}>
              <button
                type="button"
                onClick={() => navigate(`/programs?callers=one&caller=${encodeURIComponent(caller)}`)}
              >
                <bdi className="numbers">{maskedNumber}</bdi>
                <bdi className="quiet numbers">{serviceCode}</bdi>
                <span className="quiet small numbers">{formatUtc(seenAt)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
