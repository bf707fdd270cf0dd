import type { OracleAppOptions, OraclePlugin } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { createTempDir } from '@palaver/test-kit';
import { createDelegation, createInvocation, createSigner, type Signer } from '@palaver/ucan';
import { createCredentialCache, createTransport } from '../src/core/index.ts';

/** The real agent service with the offline model, on a port of its own. */
export async function startAgent(
  env: Record<string, string> = {},
  plugins: OraclePlugin[] = [],
  behaviour: Pick<OracleAppOptions, 'model'> = {},
) {
  const dir = await createTempDir();
  const app = await createOracleApp({
    env: { DATA_DIR: dir.path, PORT: '0', LOG_LEVEL: 'silent', OFFLINE_WORDS_PER_SECOND: '200', ...env },
    plugins,
    ...behaviour,
  });
  const url = await app.listen();
  return {
    url,
    did: app.did,
    async [Symbol.asyncDispose]() {
      await app.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

export type TestAgent = Awaited<ReturnType<typeof startAgent>>;

/** Answers cost credit, and new users have none. */
export const payFirst = { CREDITS_ENABLED: 'true', CREDITS_FREE: '0' };

/** Pays a claim, as the operator does who has seen the payment. */
export async function settleClaim(agent: { url: string }, claimId: string): Promise<void> {
  const response = await fetch(`${agent.url}/credits/claims/${claimId}/settle`, { method: 'POST' });
  if (!response.ok) throw new Error(await response.text());
}

/** The functions an application's wallet brings, for a user with a key of their own. */
export function createWallet(user: Signer) {
  const capability = { can: 'oracle/*', with: 'ixo:oracle' } as const;
  return {
    did: user.did() as string,
    createDelegation: (audience: string) => createDelegation({ issuer: user, audience, capabilities: [capability] }),
    createInvocation: (audience: string) => createInvocation({ issuer: user, audience, capability }),
  };
}

/** A new user with a transport to the agent. */
export async function createUser(agent: { url: string; did: string }) {
  const wallet = createWallet(await createSigner());
  const credentials = createCredentialCache({ userDid: wallet.did, ...wallet });
  return { wallet, credentials, transport: createTransport({ baseUrl: agent.url, oracleDid: agent.did, credentials }) };
}
