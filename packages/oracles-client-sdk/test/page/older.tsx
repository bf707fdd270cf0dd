import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { createRoot } from 'react-dom/client';
import { App } from './older-app.tsx';

const params = new URLSearchParams(location.search);
const { did, createDelegation, createInvocation } = await createKeyWallet();
const mounted: string[] = [];
Object.assign(globalThis, { mounted });

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <App
    oracleDid={params.get('did') ?? ''}
    baseUrl={params.get('url') ?? ''}
    wallet={{ address: 'ixo1user', did, matrix: { accessToken: '', homeServer: '' } }}
    createDelegation={createDelegation}
    createInvocation={createInvocation}
    onPaymentRequiredError={() => {}}
    onMount={(id) => mounted.push(id)}
  />,
);
