'use client';

import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';
import { useEffect, useState } from 'react';

const decline = async () => {
  throw new Error('not signed in');
};

/** On the server, and until the browser has its key, nobody is signed in. */
export function SignedIn({ children }) {
  const [wallet, setWallet] = useState();
  useEffect(() => {
    createKeyWallet().then(setWallet);
  }, []);
  return (
    <OraclesProvider
      initialWallet={wallet && { address: '', did: wallet.did, matrix: { accessToken: '', homeServer: '' } }}
      transactSignX={decline}
      createDelegation={wallet?.createDelegation ?? decline}
      createInvocation={wallet?.createInvocation ?? decline}
    >
      {children}
    </OraclesProvider>
  );
}
