import { AppError } from '@palaver/contract';
import { type TransportFor, toReason } from './phone-transport.ts';

/** What the agent keeps of a phone number, asked for in its own name. */
export interface AgentPerson {
  export(phone: string): Promise<unknown>;
  erase(phone: string): Promise<void>;
}

const timeoutMs = 30_000;
const maxBytes = 100_000_000;

export function createAgentPerson(transportFor: TransportFor): AgentPerson {
  async function call(phone: string, method: 'GET' | 'DELETE', path: string): Promise<unknown> {
    try {
      const transport = await transportFor(phone, maxBytes);
      return await transport.json(path, { method, signal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      throw new AppError(
        'UNAVAILABLE',
        `The agent service cannot be asked (${toReason(error)}); nothing was done. Try again later.`,
      );
    }
  }
  return {
    export: (phone) => call(phone, 'GET', '/me/export'),
    erase: async (phone) => void (await call(phone, 'DELETE', '/me')),
  };
}
