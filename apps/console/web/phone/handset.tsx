import { ussdLimits } from '@palaver/contract';
import { defaultServiceCode } from '@palaver/contract/internal';
import { type KeyboardEvent, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/button.tsx';
import { Form } from '../ui/fields.tsx';
import type { PhoneLine } from './use-phone.ts';

const keys = [
  ['1', ''],
  ['2', 'abc'],
  ['3', 'def'],
  ['4', 'ghi'],
  ['5', 'jkl'],
  ['6', 'mno'],
  ['7', 'pqrs'],
  ['8', 'tuv'],
  ['9', 'wxyz'],
  ['*', ''],
  ['0', '+'],
  ['#', ''],
] as const;

interface HandsetProps {
  name: string;
  phone: PhoneLine;
  /** Of the screens, where it is known. */
  language: string | undefined;
}

/** The phone itself. Digits come from its keys or the keyboard, letters from the keyboard. */
export function Handset({ name, phone, language }: HandsetProps) {
  const { line } = phone;
  const isOpen = line.status === 'open' || line.status === 'waiting';
  const [code, setCode] = useState(defaultServiceCode);
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
  const leaveOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape') hangUp();
  };

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
        {keys.map(([key, letters]) => (
          <button key={key} type="button" onClick={() => press(key)} data-letters={letters} aria-label={key}>
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
