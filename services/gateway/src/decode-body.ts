// protobuf-es reads standard JSON: the reference's own forms (decimals, JSON or hex in bytes) are converted first.
import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { isReflectList, isReflectMap, isReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import type { Any } from '@bufbuild/protobuf/wkt';
import type { DecodedRequest } from './decode-request.ts';
import { readFieldRules } from './descriptors/options.ts';
import { findCustomType } from './printer/custom-types.ts';

type Json = JsonValue | undefined;

export function decodeBody(type: DescMessage, json: unknown, registry: Registry): DecodedRequest {
  try {
    const standard = toStandard(type, json as Json, registry) as JsonValue;
    const message = fromJson(type, standard, { registry });
    shortenTypeUrls(type, message, registry);
    return { ok: true, bytes: toBinary(type, message) };
  } catch (error) {
    return { ok: false, message: (error as Error).message.slice(0, 300) };
  }
}

/** protobuf-es puts a host before the type's name; on a chain the type URL is part of what is signed, and has none. */
function shortenTypeUrls(type: DescMessage, message: Message, registry: Registry): void {
  if (type.typeName === 'google.protobuf.Any') {
    const any = message as Any;
    const name = any.typeUrl.slice(any.typeUrl.lastIndexOf('/') + 1);
    const inner = registry.getMessage(name);
    if (!inner) return;
    const value = fromBinary(inner, any.value);
    shortenTypeUrls(inner, value, registry);
    Object.assign(any, { typeUrl: `/${name}`, value: toBinary(inner, value) });
    return;
  }
  const whole = reflect(type, message);
  for (const field of type.fields) {
    if (!field.message || !whole.isSet(field)) continue;
    for (const part of messagesOf(whole.get(field))) shortenTypeUrls(field.message, part, registry);
  }
}

function messagesOf(value: unknown): Message[] {
  if (isReflectMessage(value)) return [value.message];
  if (isReflectList(value)) return [...value].flatMap(messagesOf);
  return isReflectMap(value) ? [...value.values()].flatMap(messagesOf) : [];
}

export function listAnyTypes(json: unknown): string[] {
  const names = new Set<string>();
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const { '@type': typeUrl } = value as { '@type'?: unknown };
    if (typeof typeUrl === 'string') names.add(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
    for (const inner of Object.values(value)) walk(inner);
  };
  walk(json);
  return [...names];
}

function toStandard(type: DescMessage, json: Json, registry: Registry): Json {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  if (type.typeName === 'google.protobuf.Any') {
    const { '@type': typeUrl, ...rest } = json;
    const inner = registry.getMessage(String(typeUrl).replace(/^.*\//, ''));
    return { '@type': typeUrl ?? '', ...((inner ? toStandard(inner, rest, registry) : rest) as typeof rest) };
  }
  if (type.file.proto.package === 'google.protobuf') return json;
  return Object.fromEntries(
    Object.entries(json).flatMap(([name, value]) => {
      const field = type.fields.find((candidate) => candidate.name === name || candidate.jsonName === name);
      // The reference ignores fields that it does not know.
      return field ? [[name, toStandardField(field, value, registry) ?? null]] : [];
    }),
  );
}

function toStandardField(field: DescField, value: Json, registry: Registry): Json {
  const one = (item: Json) =>
    field.message ? toStandard(field.message, item, registry) : toStandardScalar(field, item);
  if (field.fieldKind === 'list') return Array.isArray(value) ? value.map((item) => one(item) ?? null) : value;
  if (field.fieldKind !== 'map' || typeof value !== 'object' || value === null) return one(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(item as Json) ?? null]));
}

function toStandardScalar(field: DescField, value: Json): Json {
  const custom = findCustomType(readFieldRules(field));
  // JSON in a bytes field may be null itself.
  if (!custom || value === undefined || (value === null && custom.zero !== 'null')) return value;
  const text = custom.parse(value);
  return field.scalar === ScalarType.BYTES ? Buffer.from(text).toString('base64') : text.toString();
}
