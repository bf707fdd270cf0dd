import { type Dialogue, type Input, type Menu, toInput } from '@palaver/program/internal';
import type { Call, CallRoom } from '../calls/call.ts';
import type { Session } from '../store/session-row.ts';
import type { TextHash } from '../store/text-hash.ts';
import { measureCallRoom } from './call-room.ts';
import { type Part, toNewParts, toParts } from './text-parts.ts';

export interface UssdRequest {
  sessionId: string;
  serviceCode: string;
  phoneNumber: string;
  /** All inputs of the call, accumulated. */
  text: string;
}

/** A request whose inputs are in the accumulated text. */
export class UssdCall implements Call {
  readonly sessionId: string;
  readonly serviceCode: string;
  readonly phoneNumber: string;
  readonly inputs: readonly string[];
  readonly typedLength: number;
  readonly #text: string;
  readonly #parts: Part[];
  readonly #textHash: TextHash;

  constructor({ sessionId, serviceCode, phoneNumber, text }: UssdRequest, textHash: TextHash) {
    this.sessionId = sessionId;
    this.serviceCode = serviceCode;
    this.phoneNumber = phoneNumber;
    this.typedLength = text.length;
    this.#text = text;
    this.#parts = toParts(text);
    this.inputs = this.#parts.map(({ value }) => value);
    this.#textHash = textHash;
  }

  /** A session keeps the place of a secret in the text, and each request of the call repeats the text. */
  toInput(index: number): Input {
    return toInput(this.inputs, index);
  }

  hashTyped(): string {
    return this.#textHash.ofText(this.sessionId, this.#text);
  }

  findFirstNew({ textHash, textLength }: Session): number | undefined {
    const known = this.#text.slice(0, textLength);
    if (this.#textHash.ofText(this.sessionId, known) !== textHash) return undefined;
    const added = toNewParts(this.#text, textLength, this.#parts);
    return added && this.inputs.length - added.length;
  }

  toActionKey(count: number, step: number): string {
    return this.#textHash.ofAction(this.sessionId, this.inputs.slice(0, count), step);
  }

  measureRoom(menu: Menu, dialogue: Dialogue): CallRoom {
    return measureCallRoom(menu, dialogue, this.#text);
  }
}
