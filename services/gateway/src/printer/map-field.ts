import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { compileValue } from './compile-value.ts';
import { refuseWireType } from './field-readers.ts';
import { quoteSpan } from './json-text.ts';
import type { CompiledField, MapEntries, Printing, Slots } from './message-printer.ts';
import { scalarPrinter } from './scalar-printers.ts';
import { type WireReader, wire } from './wire-reader.ts';

type MapField = DescField & { fieldKind: 'map' };

interface Key {
  /** The value by which keys are sorted and compared. */
  order: string | number | bigint;
  json: string;
}

/** Maps print with their keys sorted: texts by byte, numbers by value. The last entry of a key counts. */
export function compileMapField(field: MapField, at: number, printing: Printing): CompiledField {
  const key = compileKey(field.mapKey);
  const value = compileValue(field, printing);
  const keyTag = (1 << 3) | key.wireType;
  const valueTag = (2 << 3) | value.wireType;
  return {
    // Made when first needed: most maps are empty.
    initial: () => undefined,
    finish: printEntries,
    read(reader, slots, given) {
      if (given !== wire.bytes) refuseWireType(given, wire.bytes);
      const held = slots[at];
      const entries: MapEntries = held instanceof Map ? held : new Map();
      slots[at] = entries;
      let { order, json } = key.zero;
      let text: string | undefined;
      reader.within(() => {
        while (reader.pos < reader.end) {
          const tag = reader.tag();
          if (tag === keyTag) ({ order, json } = key.read(reader));
          else if (tag === valueTag) text = value.print(reader);
          else if (tag >>> 3 <= 2) refuseWireType(tag & 7, wire.bytes);
          else reader.skip(tag);
        }
      });
      text ??= value.initial();
      reader.room -= text.length;
      entries.set(order, { json, value: text });
    },
  };
}

function printEntries(entries: Slots[number]): string {
  if (!(entries instanceof Map)) return '{}';
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${sorted.map(([, { json, value }]) => `${json}:${value}`).join(',')}}`;
}

function compileKey(type: ScalarType): { wireType: number; zero: Key; read(reader: WireReader): Key } {
  const { wireType, print, zero } = scalarPrinter(type);
  if (type === ScalarType.STRING) {
    return {
      wireType,
      zero: { order: '', json: '""' },
      read(reader) {
        const start = reader.span();
        // One character per byte: comparing these texts compares the bytes, as Go does.
        return { order: reader.text.slice(start, reader.pos), json: quoteSpan(reader, start, reader.pos) };
      },
    };
  }
  const toKey = (text: string): Key => {
    if (type === ScalarType.BOOL) return { order: text, json: `"${text}"` };
    // 64-bit values come quoted.
    return text.startsWith('"')
      ? { order: BigInt(text.slice(1, -1)), json: text }
      : { order: Number(text), json: `"${text}"` };
  };
  return { wireType, zero: toKey(zero), read: (reader) => toKey(print(reader)) };
}
