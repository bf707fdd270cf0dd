import type { Approval } from '@palaver/contract';
import type { ApprovalStatus } from '@palaver/contract/internal';
import type { Selectable } from 'kysely';
import type { AgentDatabase } from './schema.ts';

export type ApprovalRow = Selectable<AgentDatabase['agent_approval']>;

/** As clients see it: without the token that the user signed. */
export function fromApprovalRow(row: ApprovalRow): Approval {
  return {
    approvalId: row.id,
    toolCallId: row.call_id,
    toolName: row.tool_name,
    args: JSON.parse(row.args),
    ...(row.capability !== null && { capability: JSON.parse(row.capability) }),
    ...(row.invocation !== null && { invocation: JSON.parse(row.invocation) }),
    status: row.status as ApprovalStatus,
    askedAt: toTime(row.asked_at),
    expiresAt: toTime(row.expires_at),
    ...(row.answered_at !== null && { answeredAt: toTime(row.answered_at) }),
    ...(row.answered_by !== null && { answeredBy: row.answered_by }),
    ...(row.reason !== null && { reason: row.reason }),
  };
}

function toTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
