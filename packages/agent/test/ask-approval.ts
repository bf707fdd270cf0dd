import { type Frame, readFrames, readUntil } from './read-frames.ts';
import type { TestUser } from './test-agent.ts';

export const pay = (amount: number, to = 'ben') => `/tool pay ${JSON.stringify({ to, amount, pin: 'pin-4711' })}`;
/** The same payment by a sub-agent. */
export const payBySubAgent = (amount: number, to?: string) =>
  `/tool banker ${JSON.stringify({ task: pay(amount, to) })}`;
export const answerOf = (user: TestUser, { runId, approvalId }: Frame['data'], approved: boolean, reason?: string) =>
  user.send('POST', `/runs/${runId}/approvals/${approvalId}`, { approved, ...(reason && { reason }) });

/** Sends a message whose tool asks for approval; gives the stream after the request. */
export async function ask(user: TestUser, sessionId: string, message: string, more = {}) {
  const frames = readFrames(await user.stream(sessionId, message, more));
  const asked = (await readUntil(frames, 'approval_request')).at(-1)?.data;
  return { frames, asked };
}
