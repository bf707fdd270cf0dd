// One pass over the wire bytes fills a slot of JSON text per field; the slots are put together in declaration order.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { hasPresence, isDelimited } from '../descriptors/options.ts';
import { compileValue } from './compile-value.ts';
import { compileListField, compileMergedField, compileSingleField } from './field-readers.ts';
import { compileMapField } from './map-field.ts';
import type { CompiledField, MessagePrinter, Printing, ReadField, Slots } from './message-printer.ts';
import { pieceBytes } from './pieces.ts';
import { type Step, untilEnd, WireError, WireReader } from './wire-reader.ts';

type Layout = ReturnType<typeof compileLayout>;

export function compileMessage(type: DescMessage, printing: Printing): MessagePrinter {
  const layout = compileLayout(type, printing, false);
  const { names, finish, initial } = layout;
  const later = names.map((name) => `,${name}`);
  const print = printLayout(layout, (slots, head, reader) => {
    let json = head;
    for (let at = 0; at < names.length; at += 1) {
      const finishSlot = finish[at];
      // The initial slot is requested again if there was none: it throws with the reason.
      const slot = slots[at];
      const text = finishSlot ? finishSlot(slot, reader) : typeof slot === 'string' ? slot : initial[at]?.();
      if (text) json += (json.length === 1 ? names[at] : later[at]) + text;
    }
    return `${json}}`;
  });
  return { print, wellKnown: type.typeName === 'google.protobuf.Empty' };
}

/** Printer of a message whose JSON is that of one field or oneof: wrappers, `Struct`, `Value`, a rule's `response_body`. */
export function compileBare(type: DescMessage, printing: Printing, name?: string): MessagePrinter {
  const layout = compileLayout(type, printing, true);
  const { indexes, finish } = layout;
  const only = name === undefined ? 0 : (indexes.get(name) ?? -1);
  const finishSlot = finish[only];
  const print = printLayout(layout, (slots, _head, reader) => {
    const slot = slots[only];
    const text = finishSlot ? finishSlot(slot, reader) : slot;
    if (typeof text === 'string' && text !== '') return text;
    if (name === undefined) throw new WireError(`${type.typeName} without a value`);
    return 'null';
  });
  return { print, wellKnown: true };
}

function printLayout(
  layout: Layout,
  printSlots: (slots: Slots, head: string, reader: WireReader) => string,
): MessagePrinter['print'] {
  const proceed =
    (slots: Slots, head: string, start: number): Step =>
    (reader) => {
      layout.read(reader, slots, start, Math.min(reader.end, reader.pos + pieceBytes));
      if (reader.pos >= reader.end) return printSlots(slots, head, reader);
      for (const [at, slot] of slots.entries())
        if (typeof slot === 'string' && slot.length > pieceBytes) slots[at] = reader.pieces?.keep(slot);
      return '';
    };
  return (reader, head) => {
    const { pos, end, pieces } = reader;
    const slots = layout.createSlots();
    if (!pieces || end - pos <= pieceBytes) layout.read(reader, slots, pos, end);
    if (reader.pos < end) {
      if (!pieces) throw new WireError('too much to print at once');
      return pieces.defer(reader, untilEnd(proceed(slots, head, pos)));
    }
    const json = printSlots(slots, head, reader);
    reader.room -= json.length;
    return json;
  };
}

/** Field numbers up to here are found by index, the rare larger ones by a map. */
const dense = 128;

/** `isBare`: unset fields have text even where the JSON leaves them out. */
function compileLayout(type: DescMessage, printing: Printing, isBare: boolean) {
  const names: string[] = [];
  const indexes = new Map<string, number>();
  const compiled: CompiledField[] = [];
  const near: (ReadField | undefined)[] = new Array(dense).fill(undefined);
  const far = new Map<number, ReadField>();
  const oneofs = new Map<string, number>();
  const register = (field: DescField, at: number, read: ReadField) => {
    indexes.set(field.name, at);
    if (field.number < dense) near[field.number] = read;
    else far.set(field.number, read);
  };
  for (const field of type.fields) {
    // `optional` is a oneof of one member to the reference's generator: left out when unset.
    const group = field.oneof?.name ?? (field.proto.proto3Optional ? field.name : undefined);
    if (group === undefined) {
      const result = compileField(field, compiled.length, { printing, omits: printing.proto3 && !isBare });
      names.push(quoteName(field, printing));
      register(field, compiled.length, result.read);
      compiled.push(result);
      continue;
    }
    const at = oneofs.get(group) ?? compiled.length;
    const value = compileValue(field, printing);
    const name = isBare ? '' : quoteName(field, printing);
    const member = { ...value, print: (reader: WireReader) => name + value.print(reader) };
    const result = { ...compileSingleField(member, at), initial: () => '' };
    if (at === compiled.length) {
      oneofs.set(group, at);
      names.push('');
      compiled.push(result);
    }
    register(field, at, result.read);
  }

  const initial = compiled.map((field) => field.initial);
  let template: Slots | undefined;
  return {
    names,
    indexes,
    finish: compiled.map((field) => field.finish),
    initial,
    createSlots(): Slots {
      template ??= [...initial.map(valueOrUndefined), undefined];
      return template.slice();
    },
    /** Reads fields into the slots until `until` or until enough is printed. `start` is where the message began. */
    read(reader: WireReader, slots: Slots, start: number, until: number): void {
      while (reader.pos < until && reader.room > 0) {
        const tag = reader.tag();
        const no = tag >>> 3;
        const read = no < dense ? near[no] : far.get(no);
        if (read) read(reader, slots, tag & 7, start);
        else reader.skip(tag);
      }
    },
  };
}

/** A field that cannot be printed unset is a fault only of messages that leave it unset. */
function valueOrUndefined(initial: CompiledField['initial']): string | undefined {
  try {
    return initial();
  } catch {
    return undefined;
  }
}

/** `omits`: unset fields are empty text, and so are zeros of fields without presence. */
function compileField(
  field: DescField,
  at: number,
  { printing, omits }: { printing: Printing; omits: boolean },
): CompiledField {
  if (field.fieldKind === 'map') return omitEmpty(compileMapField(field, at, printing), omits);
  const value = compileValue(field, printing);
  if (field.fieldKind === 'list') return omitEmpty(compileListField(value, at), omits);
  if (omits) {
    const { print, zero } = value;
    value.initial = () => '';
    if (!hasPresence(field)) value.print = (reader) => omitText(print(reader), zero);
  }
  return value.printBody ? compileMergedField(value, at, field.number) : compileSingleField(value, at);
}

function omitEmpty({ finish, ...field }: CompiledField, omits: boolean): CompiledField {
  const empty = finish?.(field.initial(), new WireReader(new Uint8Array()));
  return finish && empty && omits
    ? { ...field, finish: (slot, reader) => omitText(finish(slot, reader), empty) }
    : { ...field, finish };
}

function omitText(text: string, omitted: string): string {
  return text === omitted ? '' : text;
}

function quoteName(field: DescField, { proto3 }: Printing): string {
  const { name, jsonName, message, parent } = field;
  if (proto3) return `${JSON.stringify(jsonName)}:`;
  // A group of proto2 is declared with its type, by the type's name.
  const isGroup = message && isDelimited(field) && message.parent === parent && message.name.toLowerCase() === name;
  return `${JSON.stringify(isGroup ? message.name : name)}:`;
}
