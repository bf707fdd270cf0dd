import type { AgentApi } from './agent-api.ts';
import { asRecord } from './oracle-error.ts';
import type { Transport } from './transport.ts';
import type { AnyEvent, Arguments, GrantedCapability } from './wire.ts';

/** The component by which an agent asks for a new delegation. */
export const reauthorizeComponentName = 'ReauthorizePrompt';

export interface Reauthorizer {
  /** Renews the delegation that signs the user in. A request arrives by stream and by socket, and is answered once. */
  take(event: AnyEvent): void;
  /** Signs and stores a delegation of one capability. Only after the user has agreed: the agent may name any. */
  grant(capability: GrantedCapability): Promise<void>;
}

export function createReauthorizer(
  { credentials, oracleDid }: Pick<Transport, 'credentials' | 'oracleDid'>,
  { storeDelegation }: Pick<AgentApi, 'storeDelegation'>,
): Reauthorizer {
  const answered = new Set<string>();
  return {
    take(event) {
      if (event.eventName !== 'render_component') return;
      const { componentName, eventId } = event.payload;
      if (componentName !== reauthorizeComponentName || answered.has(eventId)) return;
      if (eventId) answered.add(eventId);
      // Refused by the user or the service: the prompt stays on the page, and the next one tries again.
      credentials
        .renewDelegation(oracleDid)
        .then(({ serialized }) => storeDelegation(serialized))
        .catch(() => {});
    },
    async grant(capability) {
      const { serialized } = await credentials.grant(oracleDid, capability);
      await storeDelegation(serialized);
    },
  };
}

/** What a prompt asks for; undefined if it is enough to renew the delegation that signs the user in. */
export function toAskedCapability({ capability: can, resource, nb }: Arguments): GrantedCapability | undefined {
  if (typeof can !== 'string' || typeof resource !== 'string' || /^oracle\//i.test(can)) return undefined;
  return { can, with: resource, ...(asRecord(nb) && { nb: asRecord(nb) }) };
}
