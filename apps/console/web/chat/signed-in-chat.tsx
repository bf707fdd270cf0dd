import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { useMemo, useState } from 'react';
import { toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { ChatRoom } from './chat-room.tsx';
import type { Identity } from './identity.ts';
import { type MatrixSession, noMatrix } from './matrix-session.ts';
import '@palaver/oracles-client-sdk/ui.css';

interface SignedInChatProps {
  identity: Identity;
  oracleDid: string;
  onSignOut(): void;
}

/** The chat of somebody who has a key or a delegation. */
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
      <ChatRoom identity={identity} oracleDid={oracleDid} matrix={matrix} onMatrix={setMatrix} onSignOut={onSignOut} />
    </OraclesProvider>
  );
}

async function refuseToPay(): Promise<never> {
  throw new Error(t('chat.noWallet'));
}
