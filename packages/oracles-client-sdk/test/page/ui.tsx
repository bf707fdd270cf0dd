import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { Chat } from '@palaver/oracles-client-sdk/ui';
import '@palaver/oracles-client-sdk/ui.css';
import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const params = new URLSearchParams(location.search);
const { did, createDelegation, createInvocation } = await createKeyWallet();
Object.assign(globalThis, { userDid: did });
const dir = params.get('dir') === 'rtl' ? 'rtl' : 'ltr';

createRoot(document.querySelector('main') ?? document.body).render(
  <StrictMode>
    <OraclesProvider
      initialWallet={params.has('signed-out') ? undefined : { did }}
      createDelegation={createDelegation}
      createInvocation={createInvocation}
    >
      <h1 style={{ position: 'absolute', clipPath: 'inset(50%)' }}>Chat</h1>
      <Chat oracleDid={params.get('did') ?? ''} overrides={{ baseUrl: params.get('url') ?? '' }} dir={dir} />
    </OraclesProvider>
  </StrictMode>,
);
