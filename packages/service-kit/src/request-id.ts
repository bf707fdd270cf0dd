import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isRequestId } from '@palaver/contract/internal';

/** The client's `x-request-id` where the contract takes it, otherwise a new one. */
export function toRequestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return isRequestId(given) ? given : randomUUID();
}
