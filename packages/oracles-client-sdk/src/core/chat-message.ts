import type { WireMessage } from './wire.ts';

/** `sending` and `streaming` are this page's own; the others are the service's. */
export type MessageStatus = WireMessage['status'] | 'sending' | 'streaming';

export interface ChatMessage extends Omit<WireMessage, 'status'> {
  /** Stays the same for the life of the page, also when the service's `id` becomes known: for lists. */
  key: string;
  status: MessageStatus;
  /** Whether the service is known to have it. */
  isStored: boolean;
}

/** Behind the question with this request id, or at the end. */
export function indexAfterQuestion(messages: readonly ChatMessage[], requestId: string): number {
  const question = messages.findLastIndex((message) => message.type === 'human' && message.requestId === requestId);
  return question < 0 ? messages.length : question + 1;
}
