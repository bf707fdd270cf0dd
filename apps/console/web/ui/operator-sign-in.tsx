import { type FormEvent, useState } from 'react';
import { keepOperatorToken, useOperatorToken } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';

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
        <label className="field">
          <span>{t('operator.token')}</span>
          <input type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} />
        </label>
        <button type="submit" className="button button-main" disabled={token.trim() === ''}>
          {t('operator.signIn')}
        </button>
      </div>
    </form>
  );
}
