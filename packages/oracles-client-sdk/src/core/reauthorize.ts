import type { AgentApi } from './agent-api.ts';
import type { Transport } from './transport.ts';
import type { AnyEvent } from './wire.ts';

/** The component by which an agent asks for a new delegation. */
const reauthorizeComponentName = 'ReauthorizePrompt';

/** Answers an agent that asks for a new delegation. A request arrives by stream and by socket, and is answered once. */
export function createReauthorizer(
  { credentials, oracleDid }: Pick<Transport, 'credentials' | 'oracleDid'>,
  { storeDelegation }: Pick<AgentApi, 'storeDelegation'>,
): (event: AnyEvent) => void {
  const answered = new Set<string>();
  return (event) => {
    if (event.eventName !== 'render_component') return;
    const { componentName, eventId } = event.payload;
    if (componentName !== reauthorizeComponentName || answered.has(eventId)) return;
    if (eventId) answered.add(eventId);
    // Refused by the user or the service: the prompt stays on the page, and the next one tries again.
    credentials
      .renewDelegation(oracleDid)
      .then(({ serialized }) => storeDelegation(serialized))
      .catch(() => {});
  };
}
