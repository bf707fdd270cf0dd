import type { IncomingHttpHeaders } from 'node:http2';
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { type Refusal, refuse } from '../refusal.ts';

/** `metadata` goes out before the answer, as headers. */
export type Reply = ({ ok: true; message: Uint8Array } | Refusal) & { metadata?: Record<string, string> };

/** Answers one message of a call. The metadata of the request is among the headers. */
export type Answerer = (message: Buffer, headers: IncomingHttpHeaders) => Reply;

/** Unary methods answer one message, streaming ones each message as it comes. */
export interface Method {
  streaming: boolean;
  /** Begins a call. */
  open(): Answerer;
}

export function parseMessage<T extends Message>(
  desc: DescMessage,
  bytes: Uint8Array,
): { ok: true; message: T } | Refusal {
  try {
    return { ok: true, message: fromBinary(desc, bytes) as T };
  } catch (error) {
    return refuse('INTERNAL', `error unmarshalling request: ${(error as Error).message}`);
  }
}
