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

export function Waiting({ error }: { error?: Error | null }) {
  return error ? <Fault error={error} /> : <p className="quiet">{t('app.loading')}</p>;
}

/** Shown where an operators' route answered 401. */
export function OperatorSignIn({ message }: { message: string }) {
  const current = useOperatorToken();
  const [token, setToken] = useState('');
  const submit = () => {
    keepOperatorToken(token.trim());
  };
  return (
    <Form className="sign-in" onSubmit={submit}>
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
