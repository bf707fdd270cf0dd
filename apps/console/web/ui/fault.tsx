import { useState } from 'react';
import { ServiceFault } from '../api/call-service.ts';
import { keepOperatorToken, useOperatorToken } from '../api/operator.ts';
import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';
import { Form, InputField } from './fields.tsx';

/** Services answer in English, whatever the language of the page. */
export function Fault({ error }: { error: Error }) {
  return (
    <p className="notice notice-danger" role="alert" dir="auto" lang={error instanceof ServiceFault ? 'en' : undefined}>
      {error.message}
    </p>
  );
}

export function Refusal({ text, small }: { text: string; small?: boolean }) {
  if (text === '') return null;
  return (
    <p className={small ? 'small over' : 'notice notice-danger'} role="alert">
      {text}
    </p>
  );
}

/** Stays in the page while it is empty, so that a new text is read aloud. */
export function Notice({ text, look = 'notice' }: { text: string; look?: 'notice' | 'small' }) {
  return (
    <p role="status" className={text ? look : 'visually-hidden'}>
      {text}
    </p>
  );
}

export function Waiting({ error }: { error?: Error | null }) {
  return error ? <Fault error={error} /> : <p className="quiet">{t('app.loading')}</p>;
}

/** Shown where an operators' route answered 401. */
export function OperatorSignIn({ message }: { message: string }) {
  const current = useOperatorToken();
  const [token, setToken] = useState('');
  return (
    <Form className="sign-in" onSubmit={() => keepOperatorToken(token.trim())}>
      <p>{current ? t('operator.refused') : message}</p>
      <div className="field-row">
        <InputField label={t('operator.token')} type="password" autoComplete="off" value={token} onChange={setToken} />
        <Button type="submit" main disabled={token.trim() === ''}>
          {t('operator.signIn')}
        </Button>
      </div>
    </Form>
  );
}
