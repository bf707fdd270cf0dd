import type { DescMessage } from '@bufbuild/protobuf';
import type { WireReader } from './wire-reader.ts';

export interface MessagePrinter {
  /** Prints what is in `pos..end`. `head` opens the object: `{`, or `{"@type":"…"` inside an `Any`. */
  print(reader: WireReader, head: string): string;
  /** Types whose JSON is not an object of their fields are under `value` inside an `Any`. */
  wellKnown: boolean;
}

export interface Printing {
  proto3: boolean;
  /** Some types print otherwise where they are the value of a field. */
  find(type: DescMessage, place?: 'field'): MessagePrinter;
}

export type MapEntries = Map<string | number | bigint, { json: string; value: string }>;

export type Slot = string | MapEntries | undefined;

/** A slot for each field of a message, and last the numbers of the fields whose occurrences were merged. */
export type Slots = (Slot | Set<number>)[];

export type ReadField = (reader: WireReader, slots: Slots, wireType: number, start: number) => void;

export interface CompiledField {
  /** Text of an unset field; throws if there is none. Called only when a message is first printed: types may contain each other. */
  initial(): string | undefined;
  read: ReadField;
  /** Turns a slot that is not JSON text while reading into it. */
  finish?: (slot: Slots[number], reader: WireReader) => string;
}
