import type { FieldValue } from './compile-value.ts';
import type { CompiledField, Slots } from './message-printer.ts';
import { WireError, type WireReader, wire } from './wire-reader.ts';

/** A field of which the last occurrence counts. */
export function compileSingleField({ print, wireType, initial }: FieldValue, at: number): CompiledField {
  return {
    initial,
    read(reader, slots, given) {
      if (given !== wireType) refuseWireType(given, wireType);
      slots[at] = print(reader);
    },
  };
}

/** A message field: when it occurs again, the occurrences are one message with all their fields. */
export function compileMergedField({ print, wireType, initial }: FieldValue, at: number, no: number): CompiledField {
  let unset: string | undefined;
  return {
    initial: () => (unset = initial()),
    read(reader, slots, given, start) {
      if (given !== wireType) refuseWireType(given, wireType);
      if (isMerged(slots, no)) reader.span();
      else if (slots[at] === unset) slots[at] = print(reader);
      else slots[at] = print(joinOccurrences(reader, slots, start, no));
    },
  };
}

/** Repeated fields; numbers may come packed or one by one, whatever the descriptor says. */
export function compileListField({ print, wireType }: FieldValue, at: number): CompiledField {
  return {
    initial: () => '',
    finish: (items) => `[${items}]`,
    read(reader, slots, given) {
      const held = slots[at];
      let items = typeof held === 'string' ? held : '';
      if (given === wireType) {
        const item = print(reader);
        slots[at] = items === '' ? item : `${items},${item}`;
      } else if (given === wire.bytes) {
        reader.within(() => {
          while (reader.pos < reader.end) items = items === '' ? print(reader) : `${items},${print(reader)}`;
        });
        slots[at] = items;
      } else refuseWireType(given, wireType);
    },
  };
}

export function refuseWireType(given: number, expected: number): never {
  throw new WireError(`wire type ${given} where ${expected} belongs`);
}

/** All occurrences are joined when the second comes; without a note of it a long row of them would take quadratic time. */
function isMerged(slots: Slots, no: number): boolean {
  const merged = slots[slots.length - 1];
  return merged instanceof Set && merged.has(no);
}

/** A reader over the concatenation of every occurrence of field `no`, as one length-delimited value; moves past this one. */
function joinOccurrences(reader: WireReader, slots: Slots, start: number, no: number): WireReader {
  const last = slots.length - 1;
  const merged = slots[last];
  slots[last] = (merged instanceof Set ? merged : new Set<number>()).add(no);
  reader.span();
  const after = reader.pos;
  reader.pos = start;
  const parts: Buffer[] = [];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    const from = reader.pos;
    reader.skip(tag);
    if (tag >>> 3 !== no) continue;
    const { pos } = reader;
    reader.pos = from;
    parts.push(reader.bytes.subarray(reader.span(), pos));
  }
  reader.pos = after;
  return reader.over(Buffer.concat(parts));
}
