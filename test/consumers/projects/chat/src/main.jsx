import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { definePalaverChat } from '@palaver/oracles-client-sdk/element';
import { Chat } from '@palaver/oracles-client-sdk/ui';
import '@palaver/oracles-client-sdk/ui.css';
import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { createRoot } from 'react-dom/client';

const params = new URLSearchParams(location.search);
const { did, createDelegation, createInvocation } = await createKeyWallet();

createRoot(document.querySelector('main')).render(
  <OraclesProvider
    initialWallet={{ address: '', did, matrix: { accessToken: '', homeServer: '' } }}
    transactSignX={async () => undefined}
    createDelegation={createDelegation}
    createInvocation={createInvocation}
  >
    <Chat oracleDid={params.get('did')} overrides={{ baseUrl: params.get('url') }} />
  </OraclesProvider>,
);

// The same interface as an element.
definePalaverChat();
const element = document.createElement('palaver-chat');
element.setAttribute('agent', params.get('did'));
element.setAttribute('url', params.get('url'));
document.body.append(element);
