import { type DescEnum, ScalarType } from '@bufbuild/protobuf';
import { quoteSpan, toDouble, toDuration, toFloat, toInt64, toTimestamp, toUint64 } from './json-text.ts';
import type { MessagePrinter } from './message-printer.ts';
import { WireError, type WireReader, wire } from './wire-reader.ts';

export interface ValuePrinter {
  wireType: number;
  zero: string;
  print(reader: WireReader): string;
}

export const scalarPrinters: Record<ScalarType, ValuePrinter> = {
  [ScalarType.DOUBLE]: {
    wireType: wire.fixed64,
    zero: '0',
    print: (reader) => toDouble(reader.bytes.readDoubleLE(reader.advance(8))),
  },
  [ScalarType.FLOAT]: {
    wireType: wire.fixed32,
    zero: '0',
    print: (reader) => toFloat(reader.bytes.readFloatLE(reader.advance(4))),
  },
  [ScalarType.INT64]: long((reader) => {
    reader.varint();
    return toInt64(reader.lo, reader.hi);
  }),
  [ScalarType.UINT64]: long((reader) => {
    reader.varint();
    return toUint64(reader.lo, reader.hi);
  }),
  [ScalarType.SINT64]: long((reader) => {
    reader.varint();
    const sign = -(reader.lo & 1);
    return toInt64((((reader.lo >>> 1) | (reader.hi << 31)) ^ sign) >>> 0, ((reader.hi >>> 1) ^ sign) >>> 0);
  }),
  [ScalarType.FIXED64]: long((reader) => {
    reader.fixed64();
    return toUint64(reader.lo, reader.hi);
  }, wire.fixed64),
  [ScalarType.SFIXED64]: long((reader) => {
    reader.fixed64();
    return toInt64(reader.lo, reader.hi);
  }, wire.fixed64),
  [ScalarType.INT32]: varint('0', (reader) => String(reader.lo | 0)),
  [ScalarType.UINT32]: varint('0', (reader) => String(reader.lo)),
  [ScalarType.SINT32]: varint('0', (reader) => String((reader.lo >>> 1) ^ -(reader.lo & 1))),
  [ScalarType.BOOL]: varint('false', (reader) => (reader.lo === 0 && reader.hi === 0 ? 'false' : 'true')),
  [ScalarType.FIXED32]: { wireType: wire.fixed32, zero: '0', print: (reader) => String(reader.fixed32()) },
  [ScalarType.SFIXED32]: { wireType: wire.fixed32, zero: '0', print: (reader) => String(reader.fixed32() | 0) },
  [ScalarType.STRING]: {
    wireType: wire.bytes,
    zero: '""',
    print(reader) {
      const start = reader.span();
      return quoteSpan(reader, start, reader.pos);
    },
  },
  [ScalarType.BYTES]: {
    wireType: wire.bytes,
    zero: 'null',
    print(reader) {
      const start = reader.span();
      return `"${reader.bytes.toString('base64', start, reader.pos)}"`;
    },
  },
};

/** Enums whose Go type has its own names, by number, and the name of all other numbers. */
const ownNames: Record<string, { names: Record<number, string>; other: string }> = {
  'cosmwasm.wasm.v1.AccessType': {
    names: { 1: '"Nobody"', 3: '"Everybody"', 4: '"AnyOfAddresses"' },
    other: '"Unspecified"',
  },
};

export function enumPrinter(type: DescEnum, proto3: boolean): ValuePrinter {
  const own = proto3 ? undefined : ownNames[type.typeName];
  if (own) return varint(own.other, (reader) => own.names[reader.lo | 0] ?? own.other);
  if (type.typeName === 'google.protobuf.NullValue') return varint('null', () => 'null');
  const names = new Map<number, string>();
  // An alias prints as the name declared first.
  for (const { number, name } of type.values) if (!names.has(number)) names.set(number, `"${name}"`);
  return varint(names.get(0) ?? '0', (reader) => names.get(reader.lo | 0) ?? String(reader.lo | 0));
}

function varint(zero: string, print: (reader: WireReader) => string): ValuePrinter {
  return {
    wireType: wire.varint,
    zero,
    print(reader) {
      reader.varint();
      return print(reader);
    },
  };
}

function long(read: (reader: WireReader) => string, wireType: number = wire.varint): ValuePrinter {
  return { wireType, zero: '"0"', print: (reader) => `"${read(reader)}"` };
}

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

export const stdDurationPrinter: ValuePrinter = {
  wireType: wire.bytes,
  zero: '"0s"',
  print: (reader) => reader.within(() => printDuration(reader, true)),
};

function printTimestamp(reader: WireReader, strict: boolean): string {
  return toTimestamp(...readSecondsAndNanos(reader), strict);
}

function printDuration(reader: WireReader, strict: boolean): string {
  return toDuration(...readSecondsAndNanos(reader), strict);
}

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
