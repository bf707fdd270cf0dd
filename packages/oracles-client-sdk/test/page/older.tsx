import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { createRoot } from 'react-dom/client';
import { App } from './older-app.tsx';

const params = new URLSearchParams(location.search);
const { did, createDelegation, createInvocation } = await createKeyWallet();
const mounted: string[] = [];

/** What any script of the page could read. */
const readKeys = () =>
  new Promise((resolve) => {
    const opening = indexedDB.open('palaver-keys');
    opening.onsuccess = () => {
      const reading = opening.result.transaction('keys').objectStore('keys').getAll();
      reading.onsuccess = () => resolve(reading.result);
    };
  });
Object.assign(globalThis, { mounted, readKeys });

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
