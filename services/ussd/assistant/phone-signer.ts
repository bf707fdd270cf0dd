import { createInvocation, deriveSigner } from '@palaver/ucan';

/** Signs requests to the agent in the name of a phone number: each has its own key, so users stay apart. */
export type SignFor = (caller: Caller, agentDid: string) => Promise<string>;

export interface Caller {
  phone: string;
  /** An account holder who has entered the PIN. Others act under another key: what holders said is not theirs. */
  isHolder: boolean;
}

const lifetimeSeconds = 300;

export function createSignFor(secret: Uint8Array): SignFor {
  return async ({ phone, isHolder }, agentDid) => {
    const issuer = await deriveSigner({ secret, label: `ussd ${isHolder ? 'phone' : 'caller'} ${phone}` });
    const capability = { can: 'oracle/*', with: agentDid };
    const { serialized } = await createInvocation({ issuer, audience: agentDid, capability, lifetimeSeconds });
    return serialized;
  };
}
