import { createHmac } from 'node:crypto';
import { equalSecrets } from '@palaver/service-kit/internal';

const windowSeconds = 5 * 60;

export interface SignedRequest {
  signingSecret: string;
  timestamp: string | undefined;
  signature: string | undefined;
  body: string;
}

/** Whether Slack sent this, and not long ago: an old request is a replay, however well it is signed. */
export function isFromSlack({ signingSecret, timestamp, signature, body }: SignedRequest, now = Date.now()): boolean {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > windowSeconds) return false;
  const expected = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  return equalSecrets(signature, `v0=${expected}`);
}
