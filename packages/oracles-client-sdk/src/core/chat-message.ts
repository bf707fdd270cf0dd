import type { WireMessage } from './wire.ts';

/** `sending` and `streaming` are this page's own; the others are the service's. */
export type MessageStatus = WireMessage['status'] | 'sending' | 'streaming';

export interface ChatMessage extends Omit<WireMessage, 'status'> {
  /** As stable as `id`; pages written before `id` was stable use it in lists. */
  key: string;
  /** The same on the page, in the history and after a reload. Other agents may store a question under another one, `storedId`. */
  id: string;
  /** The service's id, once it is known. */
  storedId?: string | undefined;
  status: MessageStatus;
  /** While files of the message are uploaded: the share that has been sent, 0 to 1. */
  uploadProgress?: number | undefined;
  /** Of an answer: those that this page asked for before with the same question, oldest first. */
  earlier?: readonly ChatMessage[] | undefined;
  /** Whether the service is known to have it. */
  isStored: boolean;
}

/** Behind the question with this request id, or at the end. */
export function indexAfterQuestion(messages: readonly ChatMessage[], requestId: string): number {
  const question = messages.findLastIndex((message) => message.type === 'human' && message.requestId === requestId);
  return question < 0 ? messages.length : question + 1;
}
