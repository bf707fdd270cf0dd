import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { formatDay, formatNumber, formatUtc } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Waiting } from '../ui/fault.tsx';
import { Facts, Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';
import { CallerHelp } from './caller-help.tsx';
import { type Caller, type CallerKey, callersApi } from './callers-api.ts';

interface CallerViewProps {
  callerKey: CallerKey;
  isAdmin: boolean;
  onClose(): void;
}

/** One caller: the account, what was called, what is kept. */
export function CallerView({ callerKey, isAdmin, onClose }: CallerViewProps) {
  const token = useOperatorToken();
  const queries = useQueryClient();
  const queryKey = ['caller', callerKey, token];
  const query = useQuery({ queryKey, gcTime: 0, queryFn: () => callersApi.find(callerKey) });
  const [number, setNumber] = useState('phoneNumber' in callerKey ? callerKey.phoneNumber : '');
  const [fault, setFault] = useState('');
  if (!query.data) return <Waiting error={query.error} />;
  const caller = query.data;
  const reveal = () =>
    callersApi.reveal(caller.caller).then(
      ({ phoneNumber }) => setNumber(phoneNumber),
      (error: Error) => setFault(error.message),
    );
  return (
    <>
      <div className="caller-head">
        <h2 className="numbers" dir="ltr">
          {number || caller.maskedNumber}
        </h2>
        {!number && (
          <Button title={t('callers.revealNote')} onClick={() => void reveal()}>
            {t('callers.reveal')}
          </Button>
        )}
        <Button onClick={onClose}>{t('app.close')}</Button>
      </div>
      {fault && (
        <p className="notice notice-danger" role="alert">
          {fault}
        </p>
      )}
      <div className="caller-parts">
        <Account caller={caller} />
        <CallerHelp
          number={number}
          hasAccount={caller.account !== null}
          isAdmin={isAdmin}
          onChanged={() => void queries.invalidateQueries({ queryKey })}
          onErased={() => queries.removeQueries({ queryKey: ['callers'] })}
        />
      </div>
      <Sessions sessions={caller.sessions} />
      <Kept results={caller.results} />
    </>
  );
}

function Account({ caller: { account, language } }: { caller: Caller }) {
  const facts: [string, string][] = account
    ? [
        [t('callers.name'), account.name],
        [t('callers.since'), formatDay(account.createdAt)],
        [t('callers.lock'), t(`callers.lock-${account.lock}`)],
        [t('callers.failed'), formatNumber(account.failedPins)],
        [t('callers.address'), toAddress(account)],
      ]
    : [];
  const rows = [...facts, ...(language ? [[t('app.language'), language] as const] : [])];
  return (
    <Panel title={t('callers.account')}>
      {!account && <p className="empty">{t('callers.noAccount')}</p>}
      <Facts rows={rows} />
    </Panel>
  );
}

function toAddress({ address, hasWallet }: NonNullable<Caller['account']>): string {
  if (address === null) return t('callers.noAddress');
  return hasWallet ? t('callers.byWallet', { address }) : address;
}

function Sessions({ sessions }: Pick<Caller, 'sessions'>) {
  return (
    <Panel title={t('callers.sessions')} empty={sessions.length === 0 && t('callers.noSessions')}>
      <Table
        label={t('callers.sessions')}
        heads={[t('callers.seen'), t('callers.code'), t('callers.program'), t('programs.screen'), t('callers.status')]}
      >
        {sessions.map(({ id, seenAt, serviceCode, program, state, status }) => (
          <tr key={id}>
            <td className="numbers">{formatUtc(seenAt)}</td>
            <td className="numbers">
              <bdi>{serviceCode}</bdi>
            </td>
            <td>{program}</td>
            <td>{state}</td>
            <td>
              <span className={status === 'active' ? 'badge badge-ok' : 'badge'}>{t(`callers.status-${status}`)}</span>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function Kept({ results }: Pick<Caller, 'results'>) {
  return (
    <Panel title={t('callers.results')} empty={results.length === 0 && t('callers.noResults')}>
      <Table
        label={t('callers.results')}
        heads={[t('results.time'), t('callers.kind'), t('callers.program'), t('callers.answers'), t('callers.status')]}
      >
        {results.map(({ id, source, name, program, createdAt, values, delivery }) => (
          <tr key={`${source} ${id}`}>
            <td className="numbers">{formatUtc(createdAt)}</td>
            <td>
              {source === 'messages' ? 'SMS' : t(source === 'forms' ? 'callers.form' : 'callers.record', { name })}
            </td>
            <td>{program}</td>
            <td className="break">
              <bdi>
                {Object.entries(values)
                  .map(([question, answer]) => `${question}: ${answer}`)
                  .join(', ')}
              </bdi>
            </td>
            <td>
              {delivery && t(`results.status-${delivery.status}`)}
              {delivery?.fault && delivery.status !== 'sent' && (
                <div className="small" lang="en" dir="auto">
                  {delivery.fault}
                </div>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
