import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { createDemoIdentity, type Identity, readIdentity } from './identity.ts';
import { keepCredential } from './kept-credential.ts';

/** Two ways in: a key made here and now, or one that exists already. */
export function SignIn({ onSignedIn }: { onSignedIn(identity: Identity): void }) {
  const [pasted, setPasted] = useState('');
  const [problem, setProblem] = useState('');

  async function enter(identity: Identity): Promise<void> {
    await keepCredential(identity.credential);
    onSignedIn(identity);
  }
  async function create(): Promise<void> {
    try {
      await enter(await createDemoIdentity());
    } catch {
      setProblem(t('chat.noKeys'));
    }
  }
  async function paste(event: FormEvent): Promise<void> {
    event.preventDefault();
    const result = await readIdentity(pasted);
    if ('problem' in result) setProblem(result.problem);
    else await enter(result);
  }

  return (
    <div className="sign-in-page">
      <section className="panel" aria-labelledby="demo-key">
        <h2 id="demo-key">{t('chat.demoKey')}</h2>
        <p className="quiet">{t('chat.demoKeyText')}</p>
        <button type="button" className="button button-main" onClick={() => void create()}>
          {t('chat.makeKey')}
        </button>
      </section>
      <section className="panel" aria-labelledby="own-key">
        <h2 id="own-key">{t('chat.ownKey')}</h2>
        <form onSubmit={(event) => void paste(event)}>
          <label className="field">
            <span>{t('chat.credential')}</span>
            <textarea
              rows={3}
              value={pasted}
              onChange={(event) => setPasted(event.target.value)}
              spellCheck={false}
              autoComplete="off"
              placeholder={t('chat.credentialHint')}
            />
          </label>
          <button type="submit" className="button" disabled={pasted.trim() === ''}>
            {t('chat.signIn')}
          </button>
        </form>
      </section>
      {problem && (
        <p className="notice notice-danger" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
