import { didDocumentSchema } from '@palaver/contract/internal';
import { createCredentialCache, createTransport, OracleError, type Transport } from '@palaver/oracles-client-sdk/core';
import { fetchBounded, fetchJson } from '@palaver/service-kit/internal';
import { createInvocation, deriveSigner } from '@palaver/ucan';

/** Requests to the agent in the name of a phone number: each has its own key, so users stay apart. */
export type TransportFor = (phone: string, maxBytes?: number) => Promise<Transport>;

const timeoutMs = 5_000;
/** Requests have shorter deadlines of their own; a language model may take its time. */
const longestMs = 120_000;
const didLifetimeMs = 10 * 60_000;
const lifetimeSeconds = 300;

export function createTransportFor(baseUrl: string, secret: Uint8Array): TransportFor {
  let known: { did: string; at: number } | undefined;

  async function loadDid(): Promise<string> {
    if (known && Date.now() - known.at < didLifetimeMs) return known.did;
    const result = await fetchJson(`${baseUrl}/.well-known/did.json`, { timeoutMs });
    if (!result.ok) throw new Error(result.reason);
    const { id } = didDocumentSchema.pick({ id: true }).parse(result.value);
    known = { did: id, at: Date.now() };
    return id;
  }

  return async (phone, maxBytes) => {
    const issuer = await toPhoneSigner(secret, phone);
    const cache = createCredentialCache({
      userDid: issuer.did(),
      createInvocation: (audience) =>
        createInvocation({ issuer, audience, capability: { can: 'oracle/*', with: audience }, lifetimeSeconds }),
    });
    return createTransport({
      baseUrl,
      oracleDid: await loadDid(),
      fetch: (url, init) => fetchBounded(url, { ...init, timeoutMs: longestMs, maxBytes }),
      credentials: {
        ...cache,
        refuse(did, refused) {
          // The agent may have a new key: the next request asks for it.
          known = undefined;
          cache.refuse(did, refused);
        },
      },
    });
  };
}

/** Why a request failed, for the log. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return error instanceof OracleError && cause instanceof Error ? `${error.message} ${cause.message}` : error.message;
}

/** The DID that the agent knows a phone number by. */
export async function toPhoneDid(secret: Uint8Array, phone: string): Promise<string> {
  return (await toPhoneSigner(secret, phone)).did();
}

function toPhoneSigner(secret: Uint8Array, phone: string) {
  return deriveSigner({ secret, label: `ussd phone ${phone}` });
}
