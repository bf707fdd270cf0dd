import { didDocumentSchema } from '@palaver/contract/internal';
import { fetchBounded } from '@palaver/service-kit/internal';

const timeoutMs = 3_000;

/** The DID of a service, from its own `/.well-known/did.json`. */
export async function resolveServiceDid(url: string): Promise<string> {
  const reply = await fetchBounded(new URL('/.well-known/did.json', url), { timeoutMs });
  if (!reply.ok) throw new Error(`${url} has no DID document (${reply.status})`);
  return didDocumentSchema.parse(await reply.json()).id;
}
