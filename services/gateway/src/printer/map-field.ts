import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { compileValue } from './compile-value.ts';
import { refuseWireType } from './field-readers.ts';
import { quoteSpan } from './json-text.ts';
import type { CompiledField, MapEntries, Printing, Slots } from './message-printer.ts';
import { scalarPrinters } from './scalar-printers.ts';
import { type WireReader, wire } from './wire-reader.ts';

type MapField = DescField & { fieldKind: 'map' };

interface Key {
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
    finish: printMap,
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

type Entry = MapEntries extends Map<infer Order, infer Value> ? [Order, Value] : never;

const atOnce = 4_096;

function printMap(entries: Slots[number], reader: WireReader): string {
  if (!(entries instanceof Map)) return '{}';
  if (reader.pieces && entries.size > atOnce) return reader.pieces.defer(reader, () => printInParts(entries));
  return `{${printEntries([...entries].sort(compareKeys))}}`;
}

function printEntries(entries: Entry[]): string {
  return entries.map(([, { json, value }]) => `${json}:${value}`).join(',');
}

function compareKeys([a]: Entry, [b]: Entry): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function* printInParts(entries: MapEntries): Generator<string, string> {
  const sorted = yield* sortInParts(entries);
  for (let at = 0; at < sorted.length; at += atOnce)
    yield (at === 0 ? '{' : ',') + printEntries(sorted.slice(at, at + atOnce));
  return '}';
}

function* sortInParts(entries: MapEntries): Generator<string, Entry[]> {
  let runs: Entry[][] = [];
  let run: Entry[] = [];
  for (const entry of entries) {
    if (run.push(entry) < atOnce) continue;
    runs.push(run.sort(compareKeys));
    run = [];
    yield '';
  }
  runs.push(run.sort(compareKeys));
  while (runs.length > 1) {
    const longer: Entry[][] = [];
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? []));
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merge(left: Entry[], right: Entry[]): Generator<string, Entry[]> {
  const merged: Entry[] = [];
  for (let [a, b] = [0, 0]; a + b < left.length + right.length; ) {
    const [ofLeft, ofRight] = [left[a], right[b]];
    const isLeft = ofLeft && (!ofRight || compareKeys(ofLeft, ofRight) < 0);
    if (isLeft) a += 1;
    else b += 1;
    merged.push((isLeft ? ofLeft : ofRight) as Entry);
    if (merged.length % atOnce === 0) yield '';
  }
  return merged;
}

function compileKey(type: ScalarType): { wireType: number; zero: Key; read(reader: WireReader): Key } {
  const { wireType, print, zero } = scalarPrinters[type];
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
