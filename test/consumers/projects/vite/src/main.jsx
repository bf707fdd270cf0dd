import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { About } from './about.jsx';
import { Conversation } from './conversation.jsx';

const params = new URLSearchParams(location.search);
const { did, createDelegation, createInvocation } = await createKeyWallet();

createRoot(document.querySelector('main')).render(
  <StrictMode>
    <OraclesProvider
      initialWallet={{ address: '', did, matrix: { accessToken: '', homeServer: '' } }}
      transactSignX={async () => undefined}
      createDelegation={createDelegation}
      createInvocation={createInvocation}
    >
      <Conversation oracleDid={params.get('did')} />
      <About />
    </OraclesProvider>
  </StrictMode>,
);
