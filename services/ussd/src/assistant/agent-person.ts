import { AppError } from '@palaver/contract';
import { didDocumentSchema } from '@palaver/contract/internal';
import { fetchJson } from '../protocol/fetch-json.ts';
import type { SignFor } from './phone-signer.ts';

/** What the agent keeps of a phone number, asked for in its own name. */
export interface AgentPerson {
  export(phone: string): Promise<unknown>;
  erase(phone: string): Promise<void>;
}

const timeoutMs = 30_000;
const maxBytes = 100_000_000;

export function createAgentPerson(agentUrl: string, signFor: SignFor): AgentPerson {
  async function call(phone: string, method: 'GET' | 'DELETE', path: string): Promise<unknown> {
    const document = await fetchJson(`${agentUrl}/.well-known/did.json`, { timeoutMs });
    if (!document.ok) throw unavailable(document.reason);
    const { id } = didDocumentSchema.pick({ id: true }).parse(document.value);
    const headers = { authorization: `Bearer ${await signFor(phone, id)}`, 'x-auth-type': 'ucan' };
    const result = await fetchJson(`${agentUrl}${path}`, { method, timeoutMs, headers, maxBytes });
    if (!result.ok) throw unavailable(result.reason);
    return result.value;
  }
  return {
    export: (phone) => call(phone, 'GET', '/me/export'),
    erase: async (phone) => void (await call(phone, 'DELETE', '/me')),
  };
}

function unavailable(reason: string): AppError {
  return new AppError(
    'UNAVAILABLE',
    `The agent service cannot be asked (${reason}); nothing was done. Try again later.`,
  );
}
