import type { AgentApi } from './agent-api.ts';
import { OracleError } from './oracle-error.ts';
import type { Reauthorizer } from './reauthorize.ts';
import type { Transport } from './transport.ts';
import type { AnyEvent, Approval } from './wire.ts';

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
