import { createInvocation, deriveSigner } from '@palaver/ucan';

/** Signs requests to the agent in the name of a phone number: each has its own key, so users stay apart. */
export type SignFor = (phone: string, agentDid: string) => Promise<string>;

const lifetimeSeconds = 300;

export function createSignFor(secret: Uint8Array): SignFor {
  return async (phone, agentDid) => {
    const issuer = await toPhoneSigner(secret, phone);
    const capability = { can: 'oracle/*', with: agentDid };
    const { serialized } = await createInvocation({ issuer, audience: agentDid, capability, lifetimeSeconds });
    return serialized;
  };
}

/** The DID that the agent knows a phone number by. */
export async function toPhoneDid(secret: Uint8Array, phone: string): Promise<string> {
  return (await toPhoneSigner(secret, phone)).did();
}

function toPhoneSigner(secret: Uint8Array, phone: string) {
  return deriveSigner({ secret, label: `ussd phone ${phone}` });
}
