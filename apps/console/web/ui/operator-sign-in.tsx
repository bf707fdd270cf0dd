import { type FormEvent, useState } from 'react';
import { keepOperatorToken, useOperatorToken } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';
import { InputField } from './fields.tsx';

/** Asked for where an operators' route said 401. */
export function OperatorSignIn({ message }: { message: string }) {
  const current = useOperatorToken();
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    keepOperatorToken(token.trim());
  };
  return (
    <form className="sign-in" onSubmit={submit}>
      <p>{current ? t('operator.refused') : message}</p>
      <div className="field-row">
        <InputField
          label={t('operator.token')}
          type="password"
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <Button type="submit" main disabled={token.trim() === ''}>
          {t('operator.signIn')}
        </Button>
      </div>
    </form>
  );
}
