import { StartError } from '@palaver/service-kit';
import { fetchBounded } from '@palaver/service-kit/internal';

/** The DID of the agent at an address, from its DID document. */
export async function fetchAgentDid(url: string): Promise<string> {
  const address = new URL('/.well-known/did.json', url);
  const reply = await fetchBounded(address, { timeoutMs: 5_000, redirect: 'follow' }).catch((error: Error) => {
    throw new StartError(`No agent answers at ${url} (${String((error.cause as Error)?.message ?? error.message)}).`, {
      cause: error,
    });
  });
  const document = (await reply.json().catch(() => ({}))) as { id?: unknown };
  if (!reply.ok || typeof document.id !== 'string')
    throw new StartError(`${url} is not an agent: ${address.pathname} has no DID.`);
  return document.id;
}
