import { expect, test } from 'vitest';
import { liveRunReplySchema, runQuerySchema } from './runs.ts';

test.each([
  [{ run: null }, true],
  [{ run: { runId: 'r', status: 'queued' } }, true],
  [{ run: { runId: 'r', status: 'running' } }, true],
  [{ run: { runId: 'r', status: 'complete' } }, false],
  [{}, false],
])('live run %j: %s', (reply, expected) => {
  expect(liveRunReplySchema.safeParse(reply).success).toBe(expected);
});

test('frames are taken up after a number, zero included', () => {
  expect(runQuerySchema.parse({ after: '0' })).toEqual({ after: 0 });
  expect(runQuerySchema.parse({ after: '41' })).toEqual({ after: 41 });
  expect(runQuerySchema.safeParse({ after: '-1' }).success).toBe(false);
});
