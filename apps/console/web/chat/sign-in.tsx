import { type FormEvent, useState } from 'react';
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
      setProblem('This browser cannot make Ed25519 keys here. Open the page over HTTPS or from this machine.');
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
        <h2 id="demo-key">Start with a demo key</h2>
        <p className="quiet">
          An Ed25519 key is made in this browser and stays in it. It signs every request to the agent; you can export it
          later.
        </p>
        <button type="button" className="button button-main" onClick={() => void create()}>
          Make a key and start
        </button>
      </section>
      <section className="panel" aria-labelledby="own-key">
        <h2 id="own-key">Use credentials you have</h2>
        <form onSubmit={(event) => void paste(event)}>
          <label className="field">
            <span>Secret key, or a delegation to this agent</span>
            <textarea
              rows={3}
              value={pasted}
              onChange={(event) => setPasted(event.target.value)}
              spellCheck={false}
              autoComplete="off"
              placeholder="Mg…, 64 hex digits, or what `npx palaver token --delegation` prints"
            />
          </label>
          <button type="submit" className="button" disabled={pasted.trim() === ''}>
            Sign in
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
