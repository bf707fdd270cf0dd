import type { UssdCaller as Caller, RecentCallers } from '@palaver/contract/internal';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { callAsOperator, loadAsOperator, sendAsOperator, useOperatorToken } from '../api/call-service.ts';
import { formatDay, formatNumber, formatUtc, type MessageKey, t } from '../i18n/text.ts';
import { Facts, Notice, Panel, Refusal, Table, Waiting } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';

interface CallerViewProps {
  callerKey: CallerKey;
  isAdmin: boolean;
  onClose(): void;
}

export function CallerView({ callerKey, isAdmin, onClose }: CallerViewProps) {
  const token = useOperatorToken();
  const queries = useQueryClient();
  const queryKey = ['caller', callerKey, token];
  const query = useQuery({ queryKey, gcTime: 0, queryFn: () => callersApi.find(callerKey) });
  const reveal = useMutation({ mutationFn: callersApi.reveal });
  if (!query.data) return <Waiting error={query.error} />;
  const caller = query.data;
  const { phoneNumber: number = '' } = 'phoneNumber' in callerKey ? callerKey : (reveal.data ?? {});
  return (
    <>
      <div className="caller-head">
        <h2 className="numbers" dir="ltr">
          {number || caller.maskedNumber}
        </h2>
        {!number && (
          <Button
            text={t('callers.reveal')}
            title={t('callers.revealNote')}
            onClick={() => reveal.mutate(caller.caller)}
          />
        )}
        <Button onClick={onClose}>{t('app.close')}</Button>
      </div>
      <Refusal text={reveal.error?.message ?? ''} />
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

interface CallerHelpProps {
  /** Empty while it is masked. */
  number: string;
  hasAccount: boolean;
  isAdmin: boolean;
  onChanged(): void;
  onErased(): void;
}

type Action = 'unlock' | 'resetPin' | 'link' | 'erase';

const questions: Record<Action, MessageKey> = {
  unlock: 'callers.unlockAsk',
  resetPin: 'callers.resetAsk',
  link: 'callers.linkAsk',
  erase: 'callers.eraseAsk',
};

const actions: Record<Action, (number: string, input: string) => Promise<string>> = {
  unlock: async (number) => callersApi.unlock(number).then(() => t('callers.unlockDone')),
  resetPin: async (number) => t('callers.resetDone', { pin: (await callersApi.resetPin(number)).pin }),
  link: async (number, address) =>
    t((await callersApi.setAddress(number, address)).pending ? 'callers.linkPending' : 'callers.linkDone'),
  erase: async (number) => callersApi.erase(number).then(() => t('callers.eraseDone')),
};

function CallerHelp({ number, hasAccount, isAdmin, onChanged, onErased }: CallerHelpProps) {
  const [asked, setAsked] = useState<Action>();
  const [done, setDone] = useState('');
  async function run(action: Action, input: string): Promise<void> {
    setDone(await actions[action](number, input));
    setAsked(undefined);
    if (action === 'erase') onErased();
    else onChanged();
  }
  const button = (action: Action, mayDo: boolean) => (
    <Button
      text={t(`callers.${action}`)}
      danger={action === 'erase'}
      disabled={!number || !mayDo || asked !== undefined}
      title={mayDo ? undefined : t('callers.needsAdmin')}
      onClick={() => {
        setDone('');
        setAsked(action);
      }}
    />
  );
  return (
    <Panel title={t('callers.help')}>
      {!number && <p className="quiet small">{t('callers.showFirst')}</p>}
      <div className="actions">
        {button('unlock', hasAccount)}
        {button('resetPin', hasAccount && isAdmin)}
        {button('link', hasAccount && isAdmin)}
        {button('erase', isAdmin)}
      </div>
      {asked && <Confirm key={asked} action={asked} number={number} onRun={run} onCancel={() => setAsked(undefined)} />}
      <Notice text={done} />
    </Panel>
  );
}

interface ConfirmProps {
  action: Action;
  number: string;
  onRun(action: Action, input: string): Promise<void>;
  onCancel(): void;
}

function Confirm({ action, number, onRun, onCancel }: ConfirmProps) {
  const form = useRef<HTMLFormElement>(null);
  const [input, setInput] = useState('');
  const [fault, setFault] = useState('');
  const hasInput = action === 'link' || action === 'erase';
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input, button')?.focus();
  }, []);
  function submit(event: FormEvent): void {
    event.preventDefault();
    onRun(action, input.trim()).catch((error: Error) => setFault(error.message));
  }
  return (
    <form
      ref={form}
      className={action === 'erase' ? 'notice notice-danger' : 'notice notice-warn'}
      onSubmit={submit}
      onKeyDown={(event) => event.key === 'Escape' && onCancel()}
    >
      <p id="confirm-question">{t(questions[action])}</p>
      {hasInput && (
        <input
          className="input"
          aria-labelledby="confirm-question"
          autoComplete="off"
          placeholder={action === 'link' ? 'ixo1…' : undefined}
          value={input}
          onChange={(event) => setInput(event.target.value)}
        />
      )}
      {fault && <p role="alert">{fault}</p>}
      <div className="actions">
        <Button text={t('callers.confirm')} type="submit" disabled={action === 'erase' && input.trim() !== number} />
        <Button onClick={onCancel}>{t('app.cancel')}</Button>
      </div>
    </form>
  );
}

export type CallerKey = { phoneNumber: string } | { caller: string };

const root = '/api/ussd';
const send = <Answer,>(path: string, body: object, method?: 'PUT') =>
  sendAsOperator<Answer>('ussd-gateway', path, body, method);
const accountPath = (phoneNumber: string, rest: string) =>
  `${root}/accounts/${encodeURIComponent(phoneNumber)}/${rest}`;

export const callersApi = {
  recent: () => loadAsOperator<RecentCallers>('ussd-gateway', `${root}/callers`),
  find: (key: CallerKey) => send<Caller>(`${root}/callers/find`, key),
  reveal: (caller: string) => send<{ phoneNumber: string }>(`${root}/callers/reveal`, { caller }),
  unlock: (phoneNumber: string) => send(accountPath(phoneNumber, 'unlock'), {}),
  resetPin: (phoneNumber: string) => send<{ pin: string }>(accountPath(phoneNumber, 'reset-pin'), {}),
  setAddress: (phoneNumber: string, address: string) =>
    send<{ pending?: object }>(accountPath(phoneNumber, 'address'), { address: address || null }, 'PUT'),
  erase: (phoneNumber: string) =>
    callAsOperator('ussd-gateway', `${root}/users/${encodeURIComponent(phoneNumber)}`, { method: 'DELETE' }),
};
