import type { EndedRunStatus, LiveRunStatus, RunStatus } from '@palaver/contract';

/**
 * Every state and change of a run: start here. `store/run-transitions.ts` alone writes the row; its owner keeps
 * the same state in `run.ts`. Deletions are apart: with its session, with its user, and by its age once it has ended.
 */
export const transitions = {
  /** Limits of how many may wait are soft: two that begin at one moment may both be counted as the last. */
  begin: { from: [], to: 'first', by: 'user' },
  start: { from: ['queued', 'running'], to: 'running', by: 'owner', if: ['not-aborting', 'first-of-session'] },
  step: { from: ['running'], to: 'same', by: 'owner', if: ['not-aborting'] },
  outcomes: { from: ['running'], to: 'same', by: 'owner' },
  frames: { from: ['queued', 'running', 'waiting'], to: 'same', by: 'owner' },
  ask: { from: ['running'], to: 'waiting', by: 'owner', if: ['not-aborting'] },
  resume: { from: ['waiting', 'running'], to: 'running', by: 'owner', if: ['not-aborting', 'nothing-pending'] },
  abort: {
    from: ['queued', 'running', 'waiting'],
    to: 'same',
    by: 'user',
    if: ['older-than-request'],
    set: ['aborting'],
  },
  replace: { from: ['queued', 'running', 'waiting'], to: 'same', by: 'user', if: ['replaced'], set: ['aborting'] },
  complete: { from: ['running'], to: 'complete', by: 'owner' },
  fail: { from: ['queued', 'running', 'waiting'], to: 'failed', by: 'owner' },
  stop: { from: ['queued', 'running', 'waiting'], to: 'aborted', by: 'owner' },
  claim: { from: ['queued', 'running', 'waiting'], to: 'same', by: 'heir', if: ['owner-dead'], set: ['take', 'death'] },
  release: { from: ['queued', 'running', 'waiting'], to: 'same', by: 'owner', set: ['give-up'] },
} as const satisfies Record<string, Transition>;

export interface Transition {
  from: readonly LiveRunStatus[];
  /** `first`: running where no other run of the session is live, otherwise queued. A run that is aborting ends as aborted. */
  to: RunStatus | 'same' | 'first';
  /** The owner by its epoch, an heir by the epoch that it has found, or whoever represents the user. */
  by: 'owner' | 'heir' | 'user';
  if?: readonly Condition[];
  set?: readonly Change[];
}

export type TransitionName = keyof typeof transitions;

export type Condition =
  | 'not-aborting'
  | 'first-of-session'
  | 'nothing-pending'
  | 'older-than-request'
  | 'replaced'
  | 'owner-dead';

/** `take`: a new owner with the next epoch. `death`: the owner before it died while the run ran. */
export type Change = 'aborting' | 'take' | 'death' | 'give-up';

export const endings = ['complete', 'failed', 'aborted'] as const;

export const hasEnded = (status: RunStatus): status is EndedRunStatus =>
  (endings as readonly RunStatus[]).includes(status);

/** Whether a run that has not ended here is not of this owner any more. The previous version ends runs without a new epoch. */
export const isElsewhere = (state: { epoch: number; status: RunStatus }, epoch: number) =>
  state.epoch > epoch || hasEnded(state.status);

/** The status after a transition of the owner, for its own copy; undefined if the table does not have it. */
export function nextStatus(name: TransitionName, status: RunStatus): RunStatus | undefined {
  const { from, to }: Transition = transitions[name];
  return (from as readonly RunStatus[]).includes(status) ? toStatus({ status, isAborting: false }, to) : undefined;
}

export function toStatus(
  { status, isAborting }: { status: RunStatus; isAborting: boolean },
  to: Transition['to'],
): RunStatus {
  if (to === 'same' || to === 'first') return status;
  return isAborting && hasEnded(to) ? 'aborted' : to;
}
