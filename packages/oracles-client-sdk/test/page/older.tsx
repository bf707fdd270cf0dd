import { createDelegation, createInvocation, parseSigner } from '@palaver/ucan';
import { createRoot } from 'react-dom/client';
import { App } from './older-app.tsx';

const params = new URLSearchParams(location.search);
const parsed = await parseSigner(params.get('key') ?? '');
if (!parsed.ok) throw new Error('the page needs a key');
const signer = parsed.ok;
const capability = { can: 'oracle/*', with: 'ixo:oracle' } as const;
const mounted: string[] = [];
Object.assign(globalThis, { mounted });

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <App
    oracleDid={params.get('did') ?? ''}
    baseUrl={params.get('url') ?? ''}
    wallet={{ address: 'ixo1user', did: signer.did(), matrix: { accessToken: '', homeServer: '' } }}
    createDelegation={(audience) => createDelegation({ issuer: signer, audience, capabilities: [capability] })}
    createInvocation={(audience) => createInvocation({ issuer: signer, audience, capability })}
    onPaymentRequiredError={() => {}}
    onMount={(id) => mounted.push(id)}
  />,
);
