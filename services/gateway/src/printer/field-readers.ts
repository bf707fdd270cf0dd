import type { FieldValue } from './compile-value.ts';
import type { CompiledField, Slots } from './message-printer.ts';
import { pieceBytes } from './pieces.ts';
import { type Step, untilEnd, WireError, type WireReader, wire } from './wire-reader.ts';

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
export function compileMergedField(value: FieldValue, at: number, no: number): CompiledField {
  const { print, printBody = print, wireType, initial } = value;
  let unset: string | undefined;
  return {
    initial: () => (unset = initial()),
    read(reader, slots, given, start) {
      if (given !== wireType) refuseWireType(given, wireType);
      if (isMerged(slots, no)) reader.message(wireType);
      else if (slots[at] === unset) slots[at] = print(reader);
      else slots[at] = printBody(joinOccurrences(reader, slots, { start, no, wireType }));
    },
  };
}

/** Repeated fields; numbers may come packed or one by one, whatever the descriptor says. */
export function compileListField({ print, wireType }: FieldValue, at: number): CompiledField {
  const begin = (): Step => {
    let isFirst = true;
    return (reader) => {
      const until = reader.pieces ? Math.min(reader.end, reader.pos + pieceBytes) : reader.end;
      let items = '';
      for (; reader.pos < until; isFirst = false) items += isFirst ? print(reader) : `,${print(reader)}`;
      return items;
    };
  };
  const printPacked = (reader: WireReader) => {
    const { pieces, pos, end } = reader;
    return pieces && end - pos > pieceBytes ? pieces.defer(reader, untilEnd(begin())) : begin()(reader);
  };
  return {
    initial: () => '',
    finish: (items) => `[${items}]`,
    read(reader, slots, given) {
      const held = slots[at];
      const items = typeof held === 'string' ? held : '';
      if (given === wireType) {
        const item = print(reader);
        slots[at] = items === '' ? item : `${items},${item}`;
      } else if (given === wire.bytes && wireType !== wire.startGroup) {
        const packed = reader.within(() => printPacked(reader));
        slots[at] = items === '' || packed === '' ? items + packed : `${items},${packed}`;
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

/** A reader over the concatenation of every occurrence of field `no`; moves past this one. */
function joinOccurrences(
  reader: WireReader,
  slots: Slots,
  { start, no, wireType }: { start: number; no: number; wireType: number },
): WireReader {
  const last = slots.length - 1;
  const merged = slots[last];
  slots[last] = (merged instanceof Set ? merged : new Set<number>()).add(no);
  reader.message(wireType);
  const after = reader.pos;
  reader.pos = start;
  const parts: Buffer[] = [];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag >>> 3 === no) parts.push(reader.bytes.subarray(reader.message(tag & 7), reader.stop));
    else reader.skip(tag);
  }
  reader.pos = after;
  return reader.over(Buffer.concat(parts));
}
