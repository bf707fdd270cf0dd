import { type DescEnum, type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { isJsonTooDeep } from '@palaver/service-kit/internal';

// The rules of grpc-gateway v1.16 and Go's strconv, except that leading zeros are decimal, where Go reads octal.

export interface WireValue {
  wireType: WireType;
  /** Fields without presence leave these out. */
  isZero: boolean;
  write(writer: BinaryWriter): void;
  body?: Uint8Array;
}

export type Parsed<T> = { value: T } | { fault: string };

/** The methods that write integers are named as their types. */
type IntegerMethod = `${'' | 'u' | 's'}int${32 | 64}` | `${'' | 's'}fixed${32 | 64}`;

const booleans = new Map<string, boolean>([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);
const decimalFloat = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const wordFloat = /^[+-]?(?:inf|infinity|nan)$/i;

export function parseScalar(type: ScalarType, text: string): Parsed<WireValue> {
  if (type === ScalarType.STRING) return delimited(Buffer.from(text));
  if (type === ScalarType.BYTES) {
    const bytes = parseBase64(text, 'either');
    return bytes ? delimited(bytes) : { fault: 'illegal base64 data' };
  }
  if (type === ScalarType.BOOL) {
    const value = booleans.get(text);
    return value === undefined ? invalid(text) : varint(Number(value));
  }
  if (type === ScalarType.DOUBLE || type === ScalarType.FLOAT) return parseFloating(type, text);
  return parseInteger(type, text);
}

export function parseEnum(type: DescEnum, text: string): Parsed<WireValue> {
  const named = type.values.find(({ name }) => name === text)?.number;
  const number = named ?? Number(readInteger(text));
  if (!type.values.some((value) => value.number === number))
    return { fault: `${text} is not a valid ${type.typeName}` };
  return varint(number);
}

/** `decimalOnly` is the rule of the wrapper types. */
function parseInteger(type: ScalarType, text: string, decimalOnly = false): Parsed<WireValue> {
  const method = ScalarType[type].toLowerCase() as IntegerMethod;
  const [isLong, isSigned] = [method.endsWith('64'), !/^[uf]/.test(method)];
  const value = readInteger(text);
  if (value === undefined || (/^[+-]/.test(text) && !isSigned) || (decimalOnly && /x/i.test(text)))
    return invalid(text);
  const max = 2n ** BigInt((isLong ? 64 : 32) - Number(isSigned));
  if (value >= max || value < -max) return { fault: `"${text}" is out of range` };
  const fixed = isLong ? WireType.Bit64 : WireType.Bit32;
  const wireType = method.includes('fixed') ? fixed : WireType.Varint;
  const written = isLong ? value : Number(value);
  return { value: { wireType, isZero: value === 0n, write: (writer) => writer[method](written as never) } };
}

function readInteger(text: string): bigint | undefined {
  const [, sign, digits] = /^([+-]?)(0[xX][0-9a-fA-F]+|\d+)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
}

function parseFloating(type: ScalarType.DOUBLE | ScalarType.FLOAT, text: string): Parsed<WireValue> {
  if (!decimalFloat.test(text) && !wordFloat.test(text)) return invalid(text);
  const isDouble = type === ScalarType.DOUBLE;
  const word = /nan$/i.test(text) ? Number.NaN : text.startsWith('-') ? -Infinity : Infinity;
  const value = wordFloat.test(text) ? word : isDouble ? Number(text) : Math.fround(Number(text));
  if (!Number.isFinite(value) && !wordFloat.test(text)) return { fault: `"${text}" is out of range` };
  const isZero = Object.is(value, 0);
  return {
    value: isDouble
      ? { wireType: WireType.Bit64, isZero, write: (writer) => writer.double(value) }
      : { wireType: WireType.Bit32, isZero, write: (writer) => writer.float(value) },
  };
}

/** Padded base64 as Go decodes it: line breaks are ignored, the last bits may be anything. */
function parseBase64(text: string, alphabet: 'standard' | 'either'): Buffer | undefined {
  const clean = text.replace(/[\r\n]/g, '');
  const padded = (letters: string) =>
    new RegExp(`^(?:[${letters}]{4})*(?:[${letters}]{2}==|[${letters}]{3}=)?$`).test(clean);
  if (padded('A-Za-z0-9+/')) return Buffer.from(clean, 'base64');
  return alphabet === 'either' && padded('A-Za-z0-9_-') ? Buffer.from(clean, 'base64url') : undefined;
}

function delimited(bytes: Uint8Array): { value: WireValue } {
  const write = (writer: BinaryWriter) => writer.bytes(bytes);
  return { value: { wireType: WireType.LengthDelimited, isZero: bytes.length === 0, write, body: bytes } };
}

function varint(number: number): { value: WireValue } {
  return { value: { wireType: WireType.Varint, isZero: number === 0, write: (writer) => writer.int32(number) } };
}

function invalid(text: string): { fault: string } {
  return { fault: `parsing ${JSON.stringify(text)}: invalid syntax` };
}

// Well-known types that a single text sets: `?at=2024-01-02T03:04:05Z`, `?wait=1m30s`, wrappers, field masks and JSON.

const nanosPerUnit: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** The message's bytes; undefined for types that no single text can set. */
export function parseWellKnown(type: DescMessage, text: string): Parsed<WireValue> | undefined {
  if (type.file.proto.package !== 'google.protobuf') return undefined;
  if (type.name === 'Timestamp') return text === 'null' ? toTime(0n, 0) : parseTimestamp(text);
  if (type.name === 'Duration') return text === 'null' ? toTime(0n, 0) : parseDuration(text);
  if (type.name === 'FieldMask') {
    const writer = new BinaryWriter();
    for (const path of text.split(',')) if (path !== '') writer.tag(1, WireType.LengthDelimited).string(path);
    return delimited(writer.finish());
  }
  if (type.name === 'Struct' || type.name === 'Value') return parseJson(type, text);
  const [, wrapped] = /^(\w+)Value$/.exec(type.name) ?? [];
  const scalar = ScalarType[wrapped?.toUpperCase() as keyof typeof ScalarType];
  return scalar === undefined ? undefined : parseWrapper(scalar, text);
}

function parseJson(type: DescMessage, text: string): Parsed<WireValue> {
  try {
    if (!isJsonTooDeep(text)) return delimited(toBinary(type, fromJson(type, JSON.parse(text))));
  } catch {
    // refused below
  }
  return { fault: `bad ${type.name}: ${text.slice(0, 100)}` };
}

function parseWrapper(scalar: ScalarType, text: string): Parsed<WireValue> {
  if (scalar === ScalarType.BOOL && text !== 'true' && text !== 'false') return { fault: `bad BoolValue: ${text}` };
  if (scalar === ScalarType.BYTES && !parseBase64(text, 'standard')) return { fault: `bad BytesValue: ${text}` };
  const isInteger = [ScalarType.INT32, ScalarType.INT64, ScalarType.UINT32, ScalarType.UINT64].includes(scalar);
  const parsed = isInteger ? parseInteger(scalar, text, true) : parseScalar(scalar, text);
  if ('fault' in parsed) return parsed;
  const writer = new BinaryWriter();
  if (!parsed.value.isZero) parsed.value.write(writer.tag(1, parsed.value.wireType));
  return delimited(writer.finish());
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

function parseTimestamp(text: string): Parsed<WireValue> {
  const [, whole = '', fraction = '', zone = ''] = rfc3339.exec(text) ?? [];
  const local = Date.parse(`${whole}Z`);
  const millis = Date.parse(`${whole}${zone}`);
  // Node reads 30 February as a day in March, so the result is formatted and compared.
  if (Number.isNaN(millis) || Number.isNaN(local) || !new Date(local).toISOString().startsWith(whole))
    return { fault: `bad Timestamp: ${text}` };
  return toTime(BigInt(millis / 1000), Number(fraction.slice(0, 9).padEnd(9, '0')));
}

// Sticky, part by part: a pattern for the whole text would try every split of every number when the end is wrong.
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

function parseDuration(text: string): Parsed<WireValue> {
  const fault = { fault: `bad Duration: ${text}` };
  const [, sign, body = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (body === '0') return toTime(0n, 0);
  if (body === '') return fault;
  let nanos = 0n;
  let at = 0;
  while (at < body.length) {
    durationPart.lastIndex = at;
    const [part, whole = '', fraction = '', unit = ''] = durationPart.exec(body) ?? [];
    if (part === undefined || (whole === '' && fraction === '')) return fault;
    at += part.length;
    const scale = nanosPerUnit[unit] ?? 1n;
    nanos += BigInt(whole || 0) * scale + (BigInt(fraction || 0) * scale) / 10n ** BigInt(fraction.length);
  }
  if (nanos >= 2n ** 63n) return fault;
  if (sign === '-') nanos = -nanos;
  return toTime(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n));
}

/** `Timestamp` and `Duration` have the same two fields. */
function toTime(seconds: bigint, nanos: number): Parsed<WireValue> {
  const writer = new BinaryWriter();
  if (seconds !== 0n) writer.tag(1, WireType.Varint).int64(seconds);
  if (nanos !== 0) writer.tag(2, WireType.Varint).int32(nanos);
  return delimited(writer.finish());
}
