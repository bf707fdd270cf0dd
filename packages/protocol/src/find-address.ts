import { z } from 'zod';
import type { GatewayClient } from './gateway-client.ts';
import type { Read } from './read-chain.ts';

const documentSchema = z.object({
  iidDocument: z.object({
    verificationMethod: z.array(z.object({ blockchainAccountID: z.string().nullish() })).default([]),
  }),
});

/**
 * The address of a DID. A DID of the protocol has its accounts in its document, and the address must be one of them; other
 * DIDs name it themselves. Undefined if there is none. It says where the DID receives coins, not whose coins it may spend:
 * anyone may write any account into a document.
 */
export async function findAddress(
  gateway: GatewayClient | undefined,
  did: string,
  given?: string,
): Promise<Read<{ address: string | undefined }>> {
  if (/^did:(?:key|web):/.test(did)) return { ok: true, address: given };
  if (!gateway) return { ok: true, address: undefined };
  const listed = await listAddresses(gateway, did);
  if (!listed.ok) return listed;
  const { addresses } = listed;
  return { ok: true, address: given === undefined ? addresses[0] : addresses.find((address) => address === given) };
}

/** The accounts in the document of a DID; none where it has no document. */
export async function listAddresses(gateway: GatewayClient, did: string): Promise<Read<{ addresses: string[] }>> {
  const result = await gateway.get(`/ixo/did/dids/${encodeURIComponent(did).replaceAll('%3A', ':')}`);
  // A node refuses what is not a DID of the protocol. Whatever else goes wrong says nothing about the DID.
  if (!result.ok && result.kind !== 'missing' && result.kind !== 'invalid') return result;
  const document = result.ok ? documentSchema.safeParse(result.value).data : undefined;
  const addresses = (document?.iidDocument.verificationMethod ?? []).flatMap(
    // Some documents write it as CAIP-10: `cosmos:ixo-5:ixo1…`.
    ({ blockchainAccountID: account }) => (account ? [account.slice(account.lastIndexOf(':') + 1)] : []),
  );
  return { ok: true, addresses };
}
