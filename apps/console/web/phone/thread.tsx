import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { callService } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Refusal } from '../ui/content.tsx';
import { Button, Form } from '../ui/controls.tsx';
import type { CallerOptions } from './use-phone.ts';

interface Text {
  isOwn: boolean;
  text: string;
}

/** Text messages with the programs that have keywords. The gateway answers here instead of sending a message. */
export function Thread({ name, caller }: { name: string; caller: CallerOptions }) {
  const [texts, setTexts] = useState<Text[]>([]);
  const [typed, setTyped] = useState('');
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (texts.length > 0 && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [texts.length]);

  const add = (isOwn: boolean, text: string) => setTexts((before) => [...before, { isOwn, text }]);
  const write = useMutation({
    mutationFn: (text: string) => writeText(caller, text),
    onSuccess: (reply) => add(false, reply),
  });
  function send(): void {
    const text = typed.trim();
    if (text === '') return;
    setTyped('');
    add(true, text);
    write.mutate(text);
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
      <Refusal text={write.error?.message ?? ''} />
      <div className="thread-write">
        <input
          className="input"
          aria-label={t('phone.text')}
          autoComplete="off"
          maxLength={1_000}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button text={t('phone.send')} type="submit" main />
      </div>
    </Form>
  );
}

async function writeText({ phoneNumber, secret }: CallerOptions, text: string): Promise<string> {
  const headers = { 'content-type': 'application/json', ...(secret && { 'x-gateway-secret': secret }) };
  const body = JSON.stringify({ from: phoneNumber, to: 'console', text });
  return (await callService('ussd-gateway', '/api/ussd/texts?reply=body', { method: 'POST', headers, body })).text();
}
