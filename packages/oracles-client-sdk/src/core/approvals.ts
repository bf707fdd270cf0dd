import type { AgentApi } from './agent-api.ts';
import { asRecord, OracleError } from './oracle-error.ts';
import type { Transport } from './transport.ts';
import type { AnyEvent, Approval, Arguments, GrantedCapability } from './wire.ts';

/** The approvals that the events of a chat have asked for: which run waits for which. */
export interface Approvals {
  add(event: AnyEvent): void;
  /** Where a delegation is asked for, approving signs and posts it first; an invocation is signed and sent with the answer. */
  answer(approvalId: string, answer: { approved: boolean; reason?: string | undefined }): Promise<Approval>;
}

export function createApprovals(
  { credentials }: Pick<Transport, 'credentials'>,
  api: Pick<AgentApi, 'answerApproval'>,
  grant: Reauthorizer['grant'],
): Approvals {
  const asked = new Map<string, { runId: string } & Pick<Approval, 'capability' | 'invocation'>>();
  return {
    add(event) {
      if (event.eventName === 'approval_request') asked.set(event.payload.approvalId, event.payload);
    },
    async answer(approvalId, answer) {
      const { runId, capability, invocation } = asked.get(approvalId) ?? {};
      if (!runId)
        throw new OracleError('Nothing waits for this approval.', { code: 'APPROVAL_NOT_FOUND', status: 404 });
      if (capability && answer.approved) await grant(capability);
      const isSigned = invocation && answer.approved;
      const signed = isSigned && (await credentials.invoke(invocation.audience, invocation.capability)).serialized;
      return (await api.answerApproval(runId, approvalId, { ...answer, ...(signed && { invocation: signed }) }))
        .approval;
    },
  };
}

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
