import { type DidKeys, listSigningKeys } from './did-document.ts';
import { fetchDocument } from './fetch-document.ts';

interface ProtocolDidRequest {
  readonly did: string;
  readonly gatewayUrl: string;
  readonly timeoutMs: number;
}

/** Asks the query gateway for the DID document the protocol holds. */
export async function resolveProtocolDid({ did, gatewayUrl, timeoutMs }: ProtocolDidRequest): Promise<DidKeys> {
  // Colons are data in the last segment; everything else that could end it is escaped.
  const id = encodeURIComponent(did).replaceAll('%3A', ':');
  const { ok, error } = await fetchDocument({ url: `${gatewayUrl.replace(/\/+$/, '')}/ixo/did/dids/${id}`, timeoutMs });
  if (error) return { error };
  return listSigningKeys(unwrap(ok), did);
}

// Chains of different age name the one field of the answer differently.
function unwrap(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  const { iidDocument, didDocument, document } = answer as Record<string, unknown>;
  return iidDocument ?? didDocument ?? document ?? answer;
}
