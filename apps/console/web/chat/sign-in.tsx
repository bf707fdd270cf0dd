import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/panel.tsx';
import type { Identity } from './identity.ts';
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
      await enter(await (await import('./identity.ts')).createDemoIdentity());
    } catch {
      setProblem(t('chat.noKeys'));
    }
  }
  async function paste(event: FormEvent): Promise<void> {
    event.preventDefault();
    const result = await (await import('./identity.ts')).readIdentity(pasted);
    if ('problem' in result) setProblem(result.problem);
    else await enter(result);
  }

  return (
    <div className="sign-in-page">
      <Panel title={t('chat.demoKey')}>
        <p className="quiet">{t('chat.demoKeyText')}</p>
        <Button main onClick={() => void create()}>
          {t('chat.makeKey')}
        </Button>
      </Panel>
      <Panel title={t('chat.ownKey')}>
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
          <Button type="submit" disabled={pasted.trim() === ''}>
            {t('chat.signIn')}
          </Button>
        </form>
      </Panel>
      {problem && (
        <p className="notice notice-danger" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
