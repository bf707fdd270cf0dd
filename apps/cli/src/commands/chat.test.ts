import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createApprovalPrompt } from './chat.ts';

const request = {
  runId: 'r1',
  approvalId: 'a1',
  sessionId: 's1',
  requestId: 'q1',
  toolCallId: 'c1',
  toolName: 'pay',
  args: { to: '\u202eana' },
  status: 'pending' as const,
  askedAt: '2029-12-31T00:00:00.000Z',
  expiresAt: '2030-01-01T00:00:00.000Z',
};

test('an answer that does not reach the agent is asked for again', async () => {
  const questions: string[] = [];
  const answers: boolean[] = [];
  const errors: unknown[] = [];
  const typed = ['y', 'perhaps', 'n'];
  const prompt = createApprovalPrompt({
    readLine: async (question) => {
      questions.push(question);
      return typed.shift();
    },
    async answer(_request, approved) {
      answers.push(approved);
      if (answers.length === 1) throw new Error('the connection broke');
    },
    onError: (error) => errors.push(error),
  });
  prompt.onRequest(request);
  await waitFor('the second answer', () => answers.length === 2);
  expect(answers).toEqual([true, false]);
  expect(errors).toEqual([new Error('the connection broke')]);
  expect(questions).toEqual(Array(3).fill('pay {"to":"\\u202eana"} needs your approval. Run it? (y/n) '));
});

test('the end of the input refuses once, even if the refusal does not reach the agent', async () => {
  let refusals = 0;
  let errors = 0;
  const prompt = createApprovalPrompt({
    readLine: async () => undefined,
    async answer() {
      refusals += 1;
      throw new Error('the connection broke');
    },
    onError: () => {
      errors += 1;
    },
  });
  prompt.onRequest(request);
  await waitFor('the error', () => errors === 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect([refusals, errors]).toEqual([1, 1]);
});
