import type { RunStatus } from '@palaver/contract';
import {
  type Condition,
  type Transition,
  type TransitionName,
  toStatus,
  transitions,
} from '../../src/runs/transitions.ts';

/** What transitions read and change of a row. */
export interface RunRow {
  status: RunStatus;
  instance: string;
  epoch: number;
  deaths: number;
  isAborting: boolean;
}

/** The transition as a function of the row: undefined if the row is not as it asks. */
export function applyTransition(
  name: Exclude<TransitionName, 'begin'>,
  row: RunRow,
  { epoch, instance, holds }: { epoch: number; instance: string; holds(condition: Condition): boolean },
): RunRow | undefined {
  const { from, to, by, if: conditions = [], set = [] }: Transition = transitions[name];
  const isMet = (condition: Condition) => (condition === 'not-aborting' ? !row.isAborting : holds(condition));
  if (!(from as readonly RunStatus[]).includes(row.status) || (by !== 'user' && epoch !== row.epoch)) return undefined;
  if (!conditions.every(isMet)) return undefined;
  const isTaken = set.includes('take');
  const hasDied = set.includes('death') && row.status === 'running' && row.instance !== '';
  const given = set.includes('give-up') ? '' : row.instance;
  return {
    status: toStatus(row, to),
    instance: isTaken ? instance : given,
    epoch: row.epoch + (isTaken ? 1 : 0),
    deaths: row.deaths + (hasDied ? 1 : 0),
    isAborting: row.isAborting || set.includes('aborting'),
  };
}
