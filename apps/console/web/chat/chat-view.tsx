import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { callService } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { GuideLink } from '../ui/guide-link.tsx';
import type { Identity } from './identity.ts';
import { forgetCredential, loadCredential } from './kept-credential.ts';
import { SignIn } from './sign-in.tsx';
import '../styles/chat.css';
import { Waiting } from '../ui/fault.tsx';

const SignedInChat = lazy(async () => ({ default: (await import('./signed-in-chat.tsx')).SignedInChat }));

/** The agent, through the client library any page would use. */
export function ChatView() {
  const [identity, setIdentity] = useState<Identity | null>();
  useEffect(() => {
    loadIdentity().then(setIdentity, () => setIdentity(null));
  }, []);
  const agent = useQuery({
    queryKey: ['agent-did'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => ((await (await callService('agent', '/.well-known/did.json')).json()) as { id: string }).id,
  });

  if (identity === undefined) return <Waiting />;
  if (identity === null) {
    return (
      <>
        <div className="view-head">
          <div>
            <h1>{t('app.chat')}</h1>
            <p>
              {t('chat.intro')} <GuideLink name="agent-api" />
            </p>
          </div>
        </div>
        <SignIn onSignedIn={setIdentity} />
      </>
    );
  }
  if (agent.error) {
    return (
      <p className="notice notice-danger" role="alert">
        {t('chat.unreachable', { message: agent.error.message })}
      </p>
    );
  }
  if (!agent.data) return <p className="quiet">{t('chat.asking')}</p>;
  const signOut = () => {
    void forgetCredential();
    setIdentity(null);
  };
  return (
    <Suspense fallback={<Waiting />}>
      <SignedInChat key={identity.did} identity={identity} oracleDid={agent.data} onSignOut={signOut} />
    </Suspense>
  );
}

/** What signs is loaded for those who have a key. */
async function loadIdentity(): Promise<Identity | null> {
  const kept = await loadCredential();
  if (!kept) return null;
  const identity = await (await import('./identity.ts')).readIdentity(kept);
  return 'problem' in identity ? null : identity;
}
