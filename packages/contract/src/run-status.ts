export const liveRunStatuses = ['queued', 'running', 'waiting'] as const;
export const endedRunStatuses = ['complete', 'aborted', 'failed'] as const;
export const callStatuses = ['isRunning', 'done', 'error'] as const;

/** Whether a tool may run. Everything but `approved` means that it does not. */
export const approvalStatuses = ['pending', 'approved', 'refused', 'expired'] as const;

/** The state of a run that has not ended. `waiting`: for the answer to an approval. */
export type LiveRunStatus = (typeof liveRunStatuses)[number];
/** How a run ended. */
export type EndedRunStatus = (typeof endedRunStatuses)[number];

/** The state of a run, or how it ended. */
export type RunStatus = LiveRunStatus | EndedRunStatus;
export type ApprovalStatus = (typeof approvalStatuses)[number];
