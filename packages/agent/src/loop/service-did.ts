import { didDocumentSchema } from '@palaver/contract/internal';

const timeoutMs = 3_000;

/** The DID of a service, from its own `/.well-known/did.json`. */
export async function resolveServiceDid(url: string): Promise<string> {
  const reply = await fetch(new URL('/.well-known/did.json', url), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  if (!reply.ok) throw new Error(`${url} has no DID document (${reply.status})`);
  return didDocumentSchema.parse(await reply.json()).id;
}
