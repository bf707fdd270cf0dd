import type { RunStatus } from '@palaver/contract';
import { expect, test } from 'vitest';
import { hasEnded, nextRunStatus, type RunStep } from './run-state.ts';

const table: [RunStatus, RunStep, RunStatus | undefined][] = [
  ['queued', 'start', 'running'],
  ['queued', 'complete', undefined],
  ['queued', 'abort', 'aborted'],
  ['queued', 'fail', 'failed'],
  ['running', 'start', undefined],
  ['running', 'complete', 'complete'],
  ['running', 'abort', 'aborted'],
  ['running', 'fail', 'failed'],
  ['running', 'wait', 'waiting'],
  ['queued', 'wait', undefined],
  ['waiting', 'start', 'running'],
  ['waiting', 'complete', undefined],
  ['waiting', 'abort', 'aborted'],
  ['waiting', 'fail', 'failed'],
  ...(['complete', 'aborted', 'failed'] as const).flatMap((ended) =>
    (['start', 'complete', 'abort', 'fail'] as const).map((step): [RunStatus, RunStep, undefined] => [
      ended,
      step,
      undefined,
    ]),
  ),
];

test.each(table)('%s, %s → %s', (status, step, next) => {
  expect(nextRunStatus(status, step)).toBe(next);
});

test('a run has ended once nothing can happen to it any more', () => {
  expect((['queued', 'running', 'complete', 'aborted', 'failed'] as const).map(hasEnded)).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
});
