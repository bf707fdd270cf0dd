import type { EndedRunStatus, RunStatus } from '@palaver/contract';

export type RunStep = 'start' | 'wait' | 'complete' | 'abort' | 'fail';

/** Every transition a run can make. What is not here cannot happen: an ended run stays as it ended. */
const transitions: Record<RunStatus, Partial<Record<RunStep, RunStatus>>> = {
  queued: { start: 'running', abort: 'aborted', fail: 'failed' },
  running: { wait: 'waiting', complete: 'complete', abort: 'aborted', fail: 'failed' },
  waiting: { start: 'running', abort: 'aborted', fail: 'failed' },
  complete: {},
  aborted: {},
  failed: {},
};

/** The status after a step, or undefined if the step is not possible. */
export function nextRunStatus(status: RunStatus, step: RunStep): RunStatus | undefined {
  return transitions[status][step];
}

export function hasEnded(status: RunStatus): status is EndedRunStatus {
  return Object.keys(transitions[status]).length === 0;
}
