// The reference's JSON rules once more, read off the descriptors value by value: slow and plain, to check the printer by.
import { type DescField, type DescMessage, fromBinary, type Registry, ScalarType } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { readFieldRules } from '../src/descriptors/options.ts';

/** The reference's JSON of a message, as text. */
export function interpretMessage(type: DescMessage, bytes: Uint8Array, registry: Registry): string {
  return printMessage(reflect(type, fromBinary(type, bytes)), registry);
}

function printMessage(message: ReflectMessage, registry: Registry, typeUrl?: string): string {
  const known = printWellKnown(message, registry);
  if (known !== undefined) return typeUrl === undefined ? known : `{"@type":${quote(typeUrl)},"value":${known}}`;
  const parts = typeUrl === undefined ? [] : [`"@type":${quote(typeUrl)}`];
  const done = new Set<string>();
  for (const field of message.desc.fields) {
    let shown: DescField | undefined = field;
    if (field.oneof) {
      if (done.has(field.oneof.name)) continue;
      done.add(field.oneof.name);
      shown = message.oneofCase(field.oneof);
    } else if (field.proto.proto3Optional && !message.isSet(field)) continue;
    if (shown) parts.push(`"${shown.name}":${printField(message, shown, registry)}`);
  }
  return `{${parts.join(',')}}`;
}

function printWellKnown(message: ReflectMessage, registry: Registry): string | undefined {
  const { desc } = message;
  const first = desc.fields[0];
  const number = (name: string) => BigInt(message.get(fieldOf(desc, name)) as bigint | number);
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp': {
      const date = new Date(Number(number('seconds')) * 1000).toISOString().slice(0, 19);
      return `"${date}${fraction(number('nanos'))}Z"`;
    }
    case 'google.protobuf.Duration': {
      const total = number('seconds') * 1_000_000_000n + number('nanos');
      const size = total < 0n ? -total : total;
      return `"${total < 0n ? '-' : ''}${size / 1_000_000_000n}${fraction(size % 1_000_000_000n)}s"`;
    }
    case 'google.protobuf.Any': {
      const typeUrl = message.get(fieldOf(desc, 'type_url')) as string;
      const type = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
      if (!type) throw new Error(`no type ${typeUrl}`);
      const inner = fromBinary(type, message.get(fieldOf(desc, 'value')) as Uint8Array);
      return printMessage(reflect(type, inner), registry, typeUrl);
    }
    case 'google.protobuf.Value': {
      const oneof = desc.oneofs[0];
      const shown = oneof && message.oneofCase(oneof);
      if (!shown) throw new Error('a value without a kind');
      return printField(message, shown, registry);
    }
    case 'google.protobuf.Empty':
      return '{}';
  }
  const isBare = /^google\.protobuf\.(?:\w+Value|Struct)$/.test(desc.typeName);
  return isBare && first ? printField(message, first, registry) : undefined;
}

function printField(message: ReflectMessage, field: DescField, registry: Registry): string {
  const rules = readFieldRules(field);
  const value = (item: unknown) => printValue(field, item, registry);
  if (field.fieldKind === 'list') return `[${[...message.get(field)].map(value).join(',')}]`;
  if (field.fieldKind === 'map') {
    const entries = [...message.get(field)].sort(([a], [b]) =>
      typeof a === 'string' && typeof b === 'string'
        ? Buffer.compare(Buffer.from(a), Buffer.from(b))
        : (a as bigint) < (b as bigint)
          ? -1
          : 1,
    );
    return `{${entries.map(([key, item]) => `${quote(String(key))}:${value(item)}`).join(',')}}`;
  }
  if (message.isSet(field)) return value(message.get(field));
  if (field.fieldKind === 'message') {
    if (rules.nullable) return 'null';
    if (rules.stdTime) return '"0001-01-01T00:00:00Z"';
    return printMessage(message.get(field), registry);
  }
  if (rules.customType) return rules.nullable ? 'null' : '"0"';
  if (field.scalar === ScalarType.BYTES) return rules.castType ? '""' : 'null';
  return value(message.get(field));
}

function printValue(field: DescField, value: unknown, registry: Registry): string {
  if (field.message) return printMessage(value as ReflectMessage, registry);
  if (field.enum) {
    if (field.enum.typeName === 'google.protobuf.NullValue') return 'null';
    const name = field.enum.values.find(({ number }) => number === value)?.name;
    return name ? `"${name}"` : String(value);
  }
  const rules = readFieldRules(field);
  if (rules.customType) return printCustom(rules.customType, value);
  if (rules.castType && value instanceof Uint8Array) return `"${Buffer.from(value).toString('hex').toUpperCase()}"`;
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString('base64')}"`;
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return `"${value}"`;
  if (field.scalar === ScalarType.FLOAT || field.scalar === ScalarType.DOUBLE)
    return printFloat(Number(value), field.scalar === ScalarType.FLOAT);
  return String(value);
}

function printCustom(type: string, value: unknown): string {
  const integer = BigInt(value instanceof Uint8Array ? Buffer.from(value).toString() : String(value));
  if (!type.endsWith('Dec')) return `"${integer}"`;
  const size = integer < 0n ? -integer : integer;
  const rest = String(size % 10n ** 18n).padStart(18, '0');
  return `"${integer < 0n ? '-' : ''}${size / 10n ** 18n}.${rest}"`;
}

function printFloat(value: number, narrow: boolean): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return '-0';
  if (!narrow) return String(value);
  const short = Array.from({ length: 9 }, (_, digits) => Number(value.toPrecision(digits + 1)));
  return String(short.find((candidate) => Math.fround(candidate) === value));
}

function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function fraction(nanos: bigint): string {
  if (nanos === 0n) return '';
  const digits = String(nanos).padStart(9, '0');
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}

function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (!field) throw new Error(`${desc.typeName} has no ${name}`);
  return field;
}
