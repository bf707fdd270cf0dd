// The rules of grpc-gateway v1.16 (runtime.PopulateQueryParameters), stricter or kinder where docs/gateway.md says so.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { hasPresence, isDelimited } from './descriptors/options.ts';
import { type Parsed, parseEnum, parseScalar, parseWellKnown, type WireValue } from './request/parse-value.ts';
import { parseQuery } from './request/url.ts';
import type { Match } from './route-table.ts';

export type DecodedRequest = { ok: true; bytes: Uint8Array } | { ok: false; message: string };

interface Draft {
  values: Map<DescField, WireValue[] | Draft>;
  oneofs: Set<string>;
}

export function decodeRequest({ route, params }: Match, query: string): DecodedRequest {
  const { input } = route.method;
  const draft = createDraft();
  for (const [path, value] of params) {
    const fault = populate(draft, input, { path: path.split('.'), values: [value], separator: ',' });
    if (fault) return { ok: false, message: `type mismatch, parameter: ${path}, error: ${fault}` };
  }
  // Where the path leaves no field for the query, the reference does not read the query, not even its faults.
  if (query !== '' && input.fields.some(({ name }) => !params.some(([path]) => path === name))) {
    const parsed = parseQuery(query);
    if (!parsed.ok) return parsed;
    for (const [key, values] of parsed.values) {
      // `m[k]=v` is an entry of a map; the reference reads the brackets of every parameter so.
      const open = key.endsWith(']') ? key.lastIndexOf('[') : -1;
      const [name, entry] = open < 0 ? [key] : [key.slice(0, open), key.slice(open + 1, -1)];
      const path = name.split('.');
      if (params.some(([bound]) => isBoundBy(bound.split('.'), path, input))) continue;
      const fault = populate(draft, input, { path, values: entry === undefined ? values : [entry, ...values] });
      if (fault) return { ok: false, message: `invalid parameter ${key}: ${fault}` };
    }
  }
  return { ok: true, bytes: toBytes(draft) };
}

export function hasField(type: DescMessage, name: string): boolean {
  return findField(type, name) !== undefined;
}

function createDraft(): Draft {
  return { values: new Map(), oneofs: new Set() };
}

function findField(type: DescMessage, name: string): DescField | undefined {
  return type.fields.find((field) => field.name === name || field.jsonName === name);
}

/** Whether `path` is what the path template has bound, or lies below it, by either of a field's names. */
function isBoundBy(bound: string[], path: string[], input: DescMessage): boolean {
  let type: DescMessage | undefined = input;
  return bound.every((name, index) => {
    const field: DescField | undefined = type && findField(type, name);
    type = field?.message;
    return field !== undefined && (path[index] === field.name || path[index] === field.jsonName);
  });
}

/** Sets a field; gives the fault in words when the value does not fit. Unknown fields are ignored. */
function populate(
  root: Draft,
  type: DescMessage,
  // A path has one text for a list: its items are separated.
  { path, values, separator }: { path: string[]; values: string[]; separator?: string },
): string | undefined {
  let draft = root;
  let message = type;
  for (const [index, name] of path.entries()) {
    const field = findField(message, name);
    if (!field) return undefined;
    const group = field.oneof?.name ?? (field.proto.proto3Optional ? field.name : undefined);
    if (group !== undefined && draft.oneofs.has(group)) return `field already set for ${group} oneof`;
    if (group !== undefined) draft.oneofs.add(group);
    const isLast = index === path.length - 1;
    if (isLast || field.fieldKind !== 'message') {
      if (!isLast) return `${name} has no fields`;
      const isJoined = separator !== undefined && field.fieldKind === 'list';
      return populateValues(draft, field, isJoined ? values.flatMap((text) => text.split(separator)) : values);
    }
    const known = draft.values.get(field);
    const child = known && !Array.isArray(known) ? known : createDraft();
    draft.values.set(field, child);
    draft = child;
    message = field.message;
  }
  return undefined;
}

function populateValues(draft: Draft, field: DescField, values: string[]): string | undefined {
  if (field.fieldKind === 'map') return populateMap(draft, field, values);
  const parsed: WireValue[] = [];
  for (const text of field.fieldKind === 'list' ? values : [values[0] ?? '']) {
    const result = parseValue(field, text);
    if ('fault' in result) return result.fault;
    parsed.push(result.value);
  }
  draft.values.set(field, parsed);
  return undefined;
}

function populateMap(draft: Draft, field: DescField & { fieldKind: 'map' }, values: string[]): string | undefined {
  const [keyText = '', valueText = ''] = values;
  if (values.length !== 2) return `expected one value as ${field.name}[key]=value`;
  const key = parseScalar(field.mapKey, keyText);
  const value = parseValue(field, valueText);
  if ('fault' in key) return key.fault;
  if ('fault' in value) return value.fault;
  const entry = new BinaryWriter();
  key.value.write(entry.tag(1, key.value.wireType));
  value.value.write(entry.tag(2, value.value.wireType));
  const bytes = entry.finish();
  const known = draft.values.get(field);
  const wireValue = { wireType: WireType.LengthDelimited, isZero: false, write: (to: BinaryWriter) => to.bytes(bytes) };
  draft.values.set(field, [...(Array.isArray(known) ? known : []), wireValue]);
  return undefined;
}

function parseValue(field: DescField, text: string): Parsed<WireValue> {
  if (field.message)
    return parseWellKnown(field.message, text) ?? { fault: `a ${field.message.typeName} cannot be given as one value` };
  if (field.enum) return parseEnum(field.enum, text);
  return field.scalar === undefined ? { fault: 'not a scalar' } : parseScalar(field.scalar, text);
}

/** Shared by all requests, because it keeps its buffer: a new buffer costs more than what is written. */
const writer = new BinaryWriter();

function toBytes(draft: Draft): Uint8Array {
  try {
    writeDraft(draft);
    return writer.finish();
  } catch (error) {
    writer.finish(); // makes it empty again
    throw error;
  }
}

function writeDraft({ values }: Draft): void {
  for (const [field, value] of [...values].sort(([a], [b]) => a.number - b.number)) {
    const isGroup = isDelimited(field);
    if (!Array.isArray(value)) {
      writer.tag(field.number, isGroup ? WireType.StartGroup : WireType.LengthDelimited);
      if (!isGroup) writer.fork();
      writeDraft(value);
      if (isGroup) writer.tag(field.number, WireType.EndGroup);
      else writer.join();
      continue;
    }
    const keepsZero = field.fieldKind !== 'scalar' && field.fieldKind !== 'enum' ? true : hasPresence(field);
    for (const item of value) {
      if (item.isZero && !keepsZero) continue;
      if (isGroup && item.body)
        writer.tag(field.number, WireType.StartGroup).raw(item.body).tag(field.number, WireType.EndGroup);
      else item.write(writer.tag(field.number, item.wireType));
    }
  }
}
