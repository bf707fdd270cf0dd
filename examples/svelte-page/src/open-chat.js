import { createAgentApi, createChat, createCredentialCache, createTransport } from '@palaver/oracles-client-sdk/core';
import { createKeyWallet } from '@palaver/oracles-client-sdk/wallet';

/** A new conversation of this browser's user with an agent. */
export async function openChat(agentUrl) {
  const { id: oracleDid } = await (await fetch(`${agentUrl}/.well-known/did.json`)).json();
  const wallet = await createKeyWallet();
  const credentials = createCredentialCache({ userDid: wallet.did, ...wallet });
  const transport = createTransport({ baseUrl: agentUrl, oracleDid, credentials });
  const { sessionId } = await createAgentApi(transport).createSession();
  return createChat({ transport, sessionId, socketUrl: agentUrl });
}
