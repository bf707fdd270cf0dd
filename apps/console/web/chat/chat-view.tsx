import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { callService, toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { ChatRoom } from './chat-room.tsx';
import { type Identity, loadIdentity } from './identity.ts';
import { forgetCredential } from './kept-credential.ts';
import { type MatrixSession, noMatrix } from './matrix-session.ts';
import { SignIn } from './sign-in.tsx';
import '@palaver/oracles-client-sdk/ui.css';
import '../styles/chat.css';

/** The agent, through the client library any page would use. */
export function ChatView() {
  const [identity, setIdentity] = useState<Identity | null>();
  const [matrix, setMatrix] = useState<MatrixSession>(noMatrix);
  useEffect(() => {
    loadIdentity().then(setIdentity, () => setIdentity(null));
  }, []);
  const agent = useQuery({
    queryKey: ['agent-did'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => ((await (await callService('agent', '/.well-known/did.json')).json()) as { id: string }).id,
  });
  const wallet = useMemo(() => ({ address: '', did: identity?.did ?? '', matrix }), [identity, matrix]);

  if (identity === undefined) return <p className="quiet">{t('app.loading')}</p>;
  if (identity === null) {
    return (
      <>
        <div className="view-head">
          <div>
            <h1>{t('app.chat')}</h1>
            <p>{t('chat.intro')}</p>
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
  const { origin } = window.location;
  const signOut = () => {
    void forgetCredential();
    setIdentity(null);
  };
  return (
    <OraclesProvider
      key={identity.did}
      initialWallet={wallet}
      transactSignX={refuseToPay}
      createDelegation={identity.createDelegation}
      createInvocation={identity.createInvocation}
      oracleDid={agent.data}
      gatewayUrl={origin + toServicePath('gateway', '')}
      overrides={{ baseUrl: origin + toServicePath('agent', ''), wsUrl: origin }}
    >
      <ChatRoom identity={identity} oracleDid={agent.data} matrix={matrix} onMatrix={setMatrix} onSignOut={signOut} />
    </OraclesProvider>
  );
}

async function refuseToPay(): Promise<never> {
  throw new Error(t('chat.noWallet'));
}
