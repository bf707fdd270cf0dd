// A printer per message type: one pass over the wire bytes fills a slot of JSON text per field, then the slots are put
// together in declaration order. Compiled once from the descriptor into closures; nothing is looked up by name later.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { compileValue } from './compile-value.ts';
import { compileListField, compileMergedField, compileSingleField } from './field-readers.ts';
import { compileMapField } from './map-field.ts';
import type { CompiledField, FindPrinter, MessagePrinter, ReadField, Slots } from './message-printer.ts';
import { WireError, type WireReader } from './wire-reader.ts';

interface Layout {
  names: string[];
  finish: CompiledField['finish'][];
  initial: CompiledField['initial'][];
  readSlots(reader: WireReader): Slots;
}

/** Printer of a message as an object of its fields. */
export function compileMessage(type: DescMessage, find: FindPrinter): MessagePrinter {
  const { names, finish, initial, readSlots } = compileLayout(
    type,
    find,
    (field, text) => `${quoteName(field)}${text}`,
  );
  const later = names.map((name) => `,${name}`);
  const print = (reader: WireReader, head: string) => {
    const slots = readSlots(reader);
    let json = head;
    for (let at = 0; at < names.length; at += 1) {
      const finishSlot = finish[at];
      // The initial slot is requested again if there was none: it throws with the reason.
      const slot = slots[at];
      const text = finishSlot ? finishSlot(slot) : typeof slot === 'string' ? slot : initial[at]?.();
      // Only an unset oneof is empty text.
      if (text) json += (json.length === 1 ? names[at] : later[at]) + text;
    }
    return `${json}}`;
  };
  return { print, wellKnown: type.typeName === 'google.protobuf.Empty' };
}

/** Printer of a message whose JSON is that of one field or oneof: wrappers, `Struct`, `Value`, a rule's `response_body`. */
export function compileBare(type: DescMessage, find: FindPrinter, name?: string): MessagePrinter {
  const { names, finish, readSlots } = compileLayout(type, find, (_field, text) => text);
  const only = name === undefined ? 0 : names.indexOf(quoteName({ name }));
  const finishSlot = finish[only];
  const print = (reader: WireReader) => {
    const slot = readSlots(reader)[only];
    const text = finishSlot ? finishSlot(slot) : slot;
    if (typeof text !== 'string' || text === '') throw new WireError(`${type.typeName} without a value`);
    return text;
  };
  return { print, wellKnown: true };
}

/** Field numbers up to here are found by index, the rare larger ones by a map. */
const dense = 128;

function compileLayout(
  type: DescMessage,
  find: FindPrinter,
  printMember: (field: DescField, text: string) => string,
): Layout {
  const names: string[] = [];
  const compiled: CompiledField[] = [];
  const near: (ReadField | undefined)[] = new Array(dense).fill(undefined);
  const far = new Map<number, ReadField>();
  const oneofs = new Map<string, number>();
  const register = (field: DescField, read: ReadField) => {
    if (field.number < dense) near[field.number] = read;
    else far.set(field.number, read);
  };
  for (const field of type.fields) {
    // `optional` is a oneof of one member to the reference's generator: left out when unset.
    const group = field.oneof?.name ?? (field.proto.proto3Optional ? field.name : undefined);
    if (group === undefined) {
      const result = compileField(field, compiled.length, find);
      names.push(quoteName(field));
      compiled.push(result);
      register(field, result.read);
      continue;
    }
    const at = oneofs.get(group) ?? compiled.length;
    const value = compileValue(field, find);
    const member = { ...value, print: (reader: WireReader) => printMember(field, value.print(reader)) };
    const result = { ...compileSingleField(member, at), initial: () => '' };
    if (at === compiled.length) {
      oneofs.set(group, at);
      names.push('');
      compiled.push(result);
    }
    register(field, result.read);
  }

  const initial = compiled.map((field) => field.initial);
  let template: Slots | undefined;
  const readSlots = (reader: WireReader) => {
    template ??= [...initial.map(valueOrUndefined), undefined];
    const slots = template.slice();
    const start = reader.pos;
    while (reader.pos < reader.end) {
      const tag = reader.tag();
      const no = tag >>> 3;
      const read = no < dense ? near[no] : far.get(no);
      if (read) read(reader, slots, tag & 7, start);
      else reader.skip(tag);
    }
    return slots;
  };
  return { names, finish: compiled.map((field) => field.finish), initial, readSlots };
}

/** A field that cannot be printed unset is a fault only of messages that leave it unset. */
function valueOrUndefined(initial: CompiledField['initial']): string | undefined {
  try {
    return initial();
  } catch {
    return undefined;
  }
}

function compileField(field: DescField, at: number, find: FindPrinter): CompiledField {
  if (field.fieldKind === 'map') return compileMapField(field, at, find);
  const value = compileValue(field, find);
  if (field.fieldKind === 'list') return compileListField(value, at);
  return value.merges ? compileMergedField(value, at, field.number) : compileSingleField(value, at);
}

function quoteName({ name }: { name: string }): string {
  return `${JSON.stringify(name)}:`;
}
