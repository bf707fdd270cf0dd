import { ussdLimits } from '@palaver/contract';
import { defaultServiceCode } from '@palaver/contract/internal';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Notice, Panel } from '../ui/content.tsx';
import { Button, download, FileButton, Form, Icon } from '../ui/controls.tsx';
import type { PhoneLine, ReplayOutcome, Step } from './use-phone.ts';

const keys = ['1', '2abc', '3def', '4ghi', '5jkl', '6mno', '7pqrs', '8tuv', '9wxyz', '*', '0+', '#'];

export function Handset({ name, phone, language }: { name: string; phone: PhoneLine; language: string | undefined }) {
  const { line } = phone;
  const isOpen = line.status === 'open' || line.status === 'waiting';
  const [code, setCode] = useState(useLocation().searchParams.get('code') ?? defaultServiceCode);
  const [answer, setAnswer] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const typed = isOpen ? answer : code;
  const setTyped = isOpen ? setAnswer : setCode;

  function press(key: string): void {
    setTyped(typed + key);
    input.current?.focus({ preventScroll: true });
  }
  function send(text: string): void {
    setAnswer('');
    phone.send(text);
    input.current?.focus({ preventScroll: true });
  }
  function submit(): void {
    if (line.status === 'waiting') return;
    if (isOpen) send(answer.trim());
    else if (code.trim()) phone.dial(code.trim());
  }
  function hangUp(): void {
    setAnswer('');
    phone.hangUp();
  }
  const leaveOnEscape = ({ key }: KeyboardEvent) => key === 'Escape' && hangUp();

  return (
    <Form className="handset" aria-label={name} onSubmit={submit} onKeyDown={leaveOnEscape}>
      <div className="handset-ear" aria-hidden="true" />
      <Screen line={line} language={language} />
      <div className="handset-input" dir="ltr">
        <input
          ref={input}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          aria-label={t(isOpen ? 'phone.answer' : 'phone.dial')}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
        />
        <button
          type="button"
          className="handset-erase"
          aria-label={t('phone.erase')}
          onClick={() => setTyped(typed.slice(0, -1))}
        >
          <Icon name="erase" size={18} />
        </button>
      </div>
      <div className="handset-soft">
        <button type="submit" className="key-call" disabled={line.status === 'waiting'}>
          {t(isOpen ? 'phone.send' : 'phone.call')}
        </button>
        <button type="button" disabled={line.status !== 'open'} onClick={() => send('0')}>
          {t('phone.back')}
        </button>
        <button type="button" disabled={line.status !== 'open'} onClick={() => send('*')}>
          {t('phone.exit')}
        </button>
        <button type="button" className="key-end" onClick={hangUp} disabled={line.status === 'idle'}>
          {t('phone.end')}
        </button>
      </div>
      <div className="handset-keys" dir="ltr">
        {keys.map(([key = '', ...letters]) => (
          <button key={key} type="button" onClick={() => press(key)} data-letters={letters.join('')} aria-label={key}>
            {key}
          </button>
        ))}
      </div>
    </Form>
  );
}

function Screen({ line, language }: { line: PhoneLine['line']; language: string | undefined }) {
  const text = line.status === 'idle' ? '' : line.screen;
  const length = [...text].length;
  return (
    <div className={`screen screen-${line.status}`}>
      <div className="screen-bar">
        <span>{t(`phone.${line.status}`)}</span>
        <span className="numbers">
          {length}/{ussdLimits.screenCharacters}
        </span>
      </div>
      {line.status === 'idle' ? (
        <output className="screen-text">{t('phone.hint')}</output>
      ) : (
        <output className="screen-text" aria-live="polite" dir="auto" lang={language}>
          {text}
        </output>
      )}
    </div>
  );
}

export function Transcript({ name, phone }: { name: string; phone: PhoneLine }) {
  const { steps, outcome } = phone;
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (steps.length > 0 && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [steps.length]);

  async function save(): Promise<void> {
    const { formatFlow, maskSecrets } = await import('@palaver/ussd/commands/flow');
    const file = formatFlow({ name: t('phone.recordedOn', { name }), steps: maskSecrets(steps.map(toFlowStep)) });
    download('dialogue.yaml', file, 'application/yaml');
  }

  return (
    <Panel
      level={3}
      title={t('phone.transcript')}
      beside={
        <div className="actions">
          <Button text={t('phone.save')} small icon="save" disabled={steps.length === 0} onClick={() => void save()} />
          <FileButton
            text={t('phone.replay')}
            label={t('phone.replayFile')}
            accept=".yaml,.yml"
            small
            icon="replay"
            onFile={async (file) => phone.replay(await file.text())}
          />
        </div>
      }
    >
      {outcome && <Outcome outcome={outcome} />}
      {steps.length === 0 ? (
        <p className="empty">{t('phone.noTranscript')}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <ol className="transcript" ref={list} tabIndex={0} aria-label={t('phone.transcriptOf', { name })}>
          {steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever appended
            <li key={index}>
              <p className="said">
                <span className="quiet">{t(step.kind === 'dial' ? 'phone.dialled' : 'phone.sent')}</span>{' '}
                <code>{step.sent === '' ? t('phone.nothing') : step.sent}</code>
              </p>
              <p dir="auto" className={step.reply.startsWith('END') ? 'shown shown-end' : 'shown'}>
                {step.reply}
              </p>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

function Outcome({ outcome }: { outcome: ReplayOutcome }) {
  if (outcome.ok) return <Notice text={t('phone.replayed', { name: outcome.name })} />;
  return (
    <div className="notice notice-danger" role="status">
      <p>{t('phone.differs', { name: outcome.name, step: outcome.step })}</p>
      <dl className="difference">
        <dt>{t('phone.recorded')}</dt>
        <dd>{outcome.expected}</dd>
        <dt>{t('phone.shownNow')}</dt>
        <dd>{outcome.received}</dd>
      </dl>
    </div>
  );
}

const toFlowStep = ({ kind, sent, reply }: Step) => (kind === 'dial' ? { dial: sent, reply } : { send: sent, reply });
