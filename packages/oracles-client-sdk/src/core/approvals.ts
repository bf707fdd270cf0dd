import type { AgentApi } from './agent-api.ts';
import { OracleError } from './oracle-error.ts';
import type { AnyEvent, Approval } from './wire.ts';

/** The approvals that the events of a chat have asked for: which run waits for which. */
export interface Approvals {
  add(event: AnyEvent): void;
  answer(approvalId: string, answer: { approved: boolean; reason?: string | undefined }): Promise<Approval>;
}

export function createApprovals(api: Pick<AgentApi, 'answerApproval'>): Approvals {
  const runIds = new Map<string, string>();
  return {
    add(event) {
      if (event.eventName === 'approval_request') runIds.set(event.payload.approvalId, event.payload.runId);
    },
    async answer(approvalId, answer) {
      const runId = runIds.get(approvalId);
      if (!runId)
        throw new OracleError('Nothing waits for this approval.', { code: 'APPROVAL_NOT_FOUND', status: 404 });
      return (await api.answerApproval(runId, approvalId, answer)).approval;
    },
  };
}
