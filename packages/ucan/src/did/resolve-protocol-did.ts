import { type DidKeys, listSigningKeys } from './did-document.ts';
import { fetchDocument } from './fetch-document.ts';

interface ProtocolDidRequest {
  readonly did: string;
  readonly gatewayUrl: string;
  readonly gatewayPrefix: string;
  readonly gatewayHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Asks the query gateway for the DID document the protocol holds. */
export async function resolveProtocolDid(request: ProtocolDidRequest): Promise<DidKeys> {
  const { did, gatewayUrl, gatewayPrefix, gatewayHeaders: headers, timeoutMs } = request;
  // Colons are data in the last segment; everything else that could end it is escaped.
  const id = encodeURIComponent(did).replaceAll('%3A', ':');
  const base = `${gatewayUrl.replace(/\/+$/, '')}${gatewayPrefix.replace(/\/+$/, '')}`;
  const { ok, error } = await fetchDocument({ url: `${base}/did/dids/${id}`, headers, timeoutMs });
  if (error) return { error };
  return listSigningKeys(unwrap(ok), did);
}

// Chains of different age name the one field of the answer differently.
function unwrap(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  const { iidDocument, didDocument, document } = answer as Record<string, unknown>;
  return iidDocument ?? didDocument ?? document ?? answer;
}
