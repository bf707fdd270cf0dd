import { toDuration, toTimestamp } from './json-text.ts';
import type { MessagePrinter } from './message-printer.ts';
import type { ValuePrinter } from './scalar-printers.ts';
import { WireError, type WireReader, wire } from './wire-reader.ts';

export const timestampPrinter: MessagePrinter = { print: (reader) => printTimestamp(reader, false), wellKnown: true };
/** Standard JSON has years 1 to 9999 only. */
export const standardTimestampPrinter: MessagePrinter = {
  print: (reader) => printTimestamp(reader, true),
  wellKnown: true,
};
export const durationPrinter: MessagePrinter = { print: (reader) => printDuration(reader, false), wellKnown: true };

/** `gogoproto.stdtime`: Go's `time.Time`, whose zero is the year 1. */
export const stdTimestampPrinter: ValuePrinter = {
  wireType: wire.bytes,
  zero: '"0001-01-01T00:00:00Z"',
  print: (reader) => reader.within(() => printTimestamp(reader, true)),
};

/** `gogoproto.stdduration`: Go's `time.Duration`. */
export const stdDurationPrinter: ValuePrinter = {
  wireType: wire.bytes,
  zero: '"0s"',
  print: (reader) => reader.within(() => printDuration(reader, true)),
};

function printTimestamp(reader: WireReader, strict: boolean): string {
  const [seconds, nanos] = readSecondsAndNanos(reader);
  return toTimestamp(seconds, nanos, strict);
}

function printDuration(reader: WireReader, strict: boolean): string {
  const [seconds, nanos] = readSecondsAndNanos(reader);
  return toDuration(seconds, nanos, strict);
}

/** The fields that `Timestamp` and `Duration` share. */
function readSecondsAndNanos(reader: WireReader): [number, number] {
  let seconds = 0;
  let nanos = 0;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === 8) {
      reader.varint();
      seconds = (reader.hi | 0) * 0x100000000 + reader.lo;
    } else if (tag === 16) {
      reader.varint();
      nanos = reader.lo | 0;
    } else if (tag >>> 3 <= 2) throw new WireError('wrong wire type in a time');
    else reader.skip(tag);
  }
  return [seconds, nanos];
}
