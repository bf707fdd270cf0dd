import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type MessageKey, t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/panel.tsx';
import { callersApi } from './callers-api.ts';

interface CallerHelpProps {
  /** Empty while it is masked. */
  number: string;
  hasAccount: boolean;
  isAdmin: boolean;
  onChanged(): void;
  onErased(): void;
}

type Action = 'unlock' | 'resetPin' | 'link' | 'erase';

const questions = {
  unlock: 'callers.unlockAsk',
  resetPin: 'callers.resetAsk',
  link: 'callers.linkAsk',
  erase: 'callers.eraseAsk',
} as const satisfies Record<Action, MessageKey>;

/** What operators can do for a caller. Each asks first, and is recorded by the service. */
export function CallerHelp({ number, hasAccount, isAdmin, onChanged, onErased }: CallerHelpProps) {
  const [asked, setAsked] = useState<Action>();
  const [done, setDone] = useState('');
  async function run(action: Action, input: string): Promise<void> {
    if (action === 'unlock') await callersApi.unlock(number);
    const reset = action === 'resetPin' ? await callersApi.resetPin(number) : undefined;
    const change = action === 'link' ? await callersApi.setAddress(number, input) : undefined;
    if (action === 'erase') await callersApi.erase(number);
    setAsked(undefined);
    if (action === 'erase') {
      setDone(t('callers.eraseDone'));
      onErased();
      return;
    }
    setDone(
      reset
        ? t('callers.resetDone', { pin: reset.pin })
        : t(change ? (change.pending ? 'callers.linkPending' : 'callers.linkDone') : 'callers.unlockDone'),
    );
    onChanged();
  }
  const button = (action: Action, title: string, mayDo: boolean) => (
    <button
      type="button"
      className={action === 'erase' ? 'button button-danger' : 'button'}
      disabled={!number || !mayDo || asked !== undefined}
      title={mayDo ? undefined : t('callers.needsAdmin')}
      onClick={() => {
        setDone('');
        setAsked(action);
      }}
    >
      {title}
    </button>
  );
  return (
    <Panel title={t('callers.help')}>
      {!number && <p className="quiet small">{t('callers.showFirst')}</p>}
      <div className="actions">
        {button('unlock', t('callers.unlock'), hasAccount)}
        {button('resetPin', t('callers.resetPin'), hasAccount && isAdmin)}
        {button('link', t('callers.link'), hasAccount && isAdmin)}
        {button('erase', t('callers.erase'), isAdmin)}
      </div>
      {asked && <Confirm key={asked} action={asked} number={number} onRun={run} onCancel={() => setAsked(undefined)} />}
      <p role="status" className={done ? 'notice' : 'visually-hidden'}>
        {done}
      </p>
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
        <Button type="submit" disabled={action === 'erase' && input.trim() !== number}>
          {t('callers.confirm')}
        </Button>
        <Button onClick={onCancel}>{t('app.cancel')}</Button>
      </div>
    </form>
  );
}
