export const liveRunStatuses = ['queued', 'running'] as const;
export const endedRunStatuses = ['complete', 'aborted', 'failed'] as const;
/** A tool call, an AG-UI action or a rendered component, in messages and events alike. */
export const callStatuses = ['isRunning', 'done', 'error'] as const;

export type LiveRunStatus = (typeof liveRunStatuses)[number];
export type EndedRunStatus = (typeof endedRunStatuses)[number];
export type RunStatus = LiveRunStatus | EndedRunStatus;
export type CallStatus = (typeof callStatuses)[number];
