import type { AgentApi } from './agent-api.ts';
import { asRecord, OracleError } from './oracle-error.ts';
import type { Transport } from './transport.ts';
import type { AnyEvent, Approval, Arguments, GrantedCapability } from './wire.ts';

export type Approvals = ReturnType<typeof createApprovals>;

/** The approvals that the events of a chat have asked for: which run waits for which. */
export function createApprovals(
  { credentials }: Pick<Transport, 'credentials'>,
  api: Pick<AgentApi, 'answerApproval'>,
  grant: (capability: GrantedCapability) => Promise<void>,
) {
  const asked = new Map<string, { runId: string } & Pick<Approval, 'capability' | 'invocation'>>();
  return {
    add(event: AnyEvent): void {
      if (event.eventName === 'approval_request') asked.set(event.payload.approvalId, event.payload);
    },
    /** Where a delegation is asked for, approving signs and posts it first; an invocation is signed and sent with the answer. */
    async answer(approvalId: string, answer: { approved: boolean; reason?: string | undefined }): Promise<Approval> {
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

export function createReauthorizer(
  { credentials, oracleDid }: Pick<Transport, 'credentials' | 'oracleDid'>,
  { storeDelegation }: Pick<AgentApi, 'storeDelegation'>,
) {
  const answered = new Set<string>();
  return {
    /** Renews the delegation that signs the user in. A request arrives by stream and by socket, and is answered once. */
    take(event: AnyEvent): void {
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
    /** Signs and stores a delegation of one capability. Only after the user has agreed: the agent may name any. */
    async grant(capability: GrantedCapability): Promise<void> {
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
