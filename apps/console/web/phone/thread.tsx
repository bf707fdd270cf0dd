import { useEffect, useRef, useState } from 'react';
import { callService } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/fault.tsx';
import { Form } from '../ui/fields.tsx';
import type { CallerOptions } from './use-phone.ts';

interface Text {
  isOwn: boolean;
  text: string;
}

/** Text messages with the programs that have keywords. The gateway answers here instead of sending a message. */
export function Thread({ name, caller }: { name: string; caller: CallerOptions }) {
  const [texts, setTexts] = useState<Text[]>([]);
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState('');
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (texts.length > 0 && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [texts.length]);

  async function send(): Promise<void> {
    const text = typed.trim();
    if (text === '') return;
    const add = (isOwn: boolean, said: string) => setTexts((before) => [...before, { isOwn, text: said }]);
    setTyped('');
    setFault('');
    add(true, text);
    try {
      add(false, await writeText(caller, text));
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <Form className="thread" aria-label={name} onSubmit={send}>
      {texts.length === 0 ? (
        <p className="empty">{t('phone.noTexts')}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <ol className="thread-texts" ref={list} tabIndex={0} aria-label={name} aria-live="polite">
          {texts.map(({ isOwn, text }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: texts are only ever appended
            <li key={index} className={isOwn ? 'thread-own' : 'thread-got'} dir="auto">
              {text || t('phone.noReply')}
            </li>
          ))}
        </ol>
      )}
      <Refusal text={fault} />
      <div className="thread-write">
        <input
          className="input"
          aria-label={t('phone.text')}
          autoComplete="off"
          maxLength={1_000}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" main>
          {t('phone.send')}
        </Button>
      </div>
    </Form>
  );
}

async function writeText({ phoneNumber, secret }: CallerOptions, text: string): Promise<string> {
  const headers = { 'content-type': 'application/json', ...(secret && { 'x-gateway-secret': secret }) };
  const body = JSON.stringify({ from: phoneNumber, to: 'console', text });
  return (await callService('ussd-gateway', '/api/ussd/texts?reply=body', { method: 'POST', headers, body })).text();
}
