import '@palaver/oracles-client-sdk/ui.css';
import { OraclesProvider, useOracleSessions } from '@palaver/oracles-client-sdk';
import { Sessions } from '@palaver/oracles-client-sdk/ui';
import { useEffect, useMemo, useState } from 'react';
import { toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Fault } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';
import { AboutMe, type Account, type MatrixSession, noMatrix } from './about-me.tsx';
import { Conversation, useLabels } from './conversation.tsx';
import type { Identity } from './identity.ts';

interface SignedInChatProps {
  identity: Identity;
  oracleDid: string;
  onSignOut(): void;
}

export function SignedInChat({ identity, oracleDid, onSignOut }: SignedInChatProps) {
  const [matrix, setMatrix] = useState<MatrixSession>(noMatrix);
  const wallet = useMemo(() => ({ address: '', did: identity.did, matrix }), [identity, matrix]);
  const { origin } = window.location;
  return (
    <OraclesProvider
      initialWallet={wallet}
      transactSignX={refuseToPay}
      createDelegation={identity.createDelegation}
      createInvocation={identity.createInvocation}
      oracleDid={oracleDid}
      gatewayUrl={origin + toServicePath('gateway', '')}
      overrides={{ baseUrl: origin + toServicePath('agent', ''), wsUrl: origin }}
    >
      <ChatRoom account={{ identity, matrix, onMatrix: setMatrix, onSignOut }} oracleDid={oracleDid} />
    </OraclesProvider>
  );
}

async function refuseToPay(): Promise<never> {
  throw new Error(t('chat.noWallet'));
}

type Side = 'sessions' | 'about';

const toAddress = (sessionId: string) => `/chat?session=${encodeURIComponent(sessionId)}`;

function ChatRoom({ account, oracleDid }: { account: Account; oracleDid: string }) {
  const [deleting, setDeleting] = useState<string>();
  const labels = useLabels();
  const all = useOracleSessions(oracleDid);
  // A session that is being deleted is closed at once: nothing of it may be asked for any more.
  const sessions = all.sessions.filter((session) => session.sessionId !== deleting);
  const { searchParams } = useLocation();
  const wanted = searchParams.get('session');
  const sessionId = wanted ?? sessions[0]?.sessionId;
  const [drawer, setDrawer] = useState<Side>();
  const [turns, setTurns] = useState(0);
  const [fault, setFault] = useState<Error>();

  // Another page may have deleted it; the address must not hold a session that is gone.
  useEffect(() => {
    if (wanted && !all.isLoading && !all.hasMore && !all.sessions.some(({ sessionId }) => sessionId === wanted)) {
      navigate('/chat');
    }
  }, [wanted, all.isLoading, all.hasMore, all.sessions]);

  function open(id: string): void {
    navigate(id ? toAddress(id) : '/chat');
    setDrawer(undefined);
    setFault(undefined);
  }
  async function remove(id: string): Promise<void> {
    setDeleting(id);
    if (id === sessionId) open('');
    try {
      await all.deleteSession(id);
    } catch (error) {
      setDeleting(undefined);
      throw error;
    }
  }
  function afterTurn(): void {
    setTurns((count) => count + 1);
    void all.refetch();
  }
  const start = () => all.createSession().then((session) => open(session.sessionId), setFault);
  const toggle = (side: Side) => setDrawer(drawer === side ? undefined : side);

  return (
    <div className={`chat-room ${drawer ? `chat-room-${drawer}` : ''}`}>
      <h1 className="visually-hidden">{t('app.chat')}</h1>
      <div className="chat-drawers">
        <Button small icon="menu" aria-pressed={drawer === 'sessions'} onClick={() => toggle('sessions')}>
          {t('chat.sessions')}
        </Button>
        <Button text={t('chat.aboutYou')} small aria-pressed={drawer === 'about'} onClick={() => toggle('about')} />
      </div>
      <div className="chat-sessions panel">
        <Sessions
          list={{ ...all, sessions, deleteSession: remove }}
          sessionId={sessionId ?? ''}
          onOpen={open}
          labels={labels}
        />
      </div>
      <section className="chat-main" aria-label={t('chat.conversation')}>
        {fault && <Fault error={fault} />}
        {sessionId ? (
          <Conversation key={sessionId} oracleDid={oracleDid} sessionId={sessionId} onTurnEnd={afterTurn} />
        ) : (
          <div className="chat-empty">
            <h2>{t(all.isLoading ? 'chat.loadingSessions' : 'chat.noConversation')}</h2>
            {!all.isLoading && <Button text={t('chat.start')} main onClick={() => void start()} />}
          </div>
        )}
      </section>
      <AboutMe {...account} turns={turns} />
    </div>
  );
}
