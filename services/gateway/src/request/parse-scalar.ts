// Texts of paths and queries as values on the wire, by the rules of grpc-gateway v1.16 and Go's strconv. One rule is the
// contract's own: leading zeros are decimal, where Go reads octal.
import { type DescEnum, ScalarType } from '@bufbuild/protobuf';
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

export interface WireValue {
  wireType: WireType;
  /** Fields without presence leave these out. */
  isZero: boolean;
  write(writer: BinaryWriter): void;
  /** What is inside a length-delimited value. */
  body?: Uint8Array;
}

/** A value, or why the text is not one. */
export type Parsed<T> = { value: T } | { fault: string };

const ranges: Partial<Record<ScalarType, [bigint, bigint]>> = {
  [ScalarType.INT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.INT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT32]: [0n, 2n ** 32n - 1n],
  [ScalarType.UINT64]: [0n, 2n ** 64n - 1n],
};
const rangeOf: Partial<Record<ScalarType, ScalarType>> = {
  [ScalarType.SINT32]: ScalarType.INT32,
  [ScalarType.SFIXED32]: ScalarType.INT32,
  [ScalarType.SINT64]: ScalarType.INT64,
  [ScalarType.SFIXED64]: ScalarType.INT64,
  [ScalarType.FIXED32]: ScalarType.UINT32,
  [ScalarType.FIXED64]: ScalarType.UINT64,
};
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
export function parseInteger(type: ScalarType, text: string, decimalOnly = false): Parsed<WireValue> {
  const [min, max] = ranges[rangeOf[type] ?? type] ?? [0n, 0n];
  const value = readInteger(text);
  if (value === undefined || (/^[+-]/.test(text) && min === 0n) || (decimalOnly && /x/i.test(text)))
    return invalid(text);
  if (value < min || value > max) return { fault: `"${text}" is out of range` };
  const isZero = value === 0n;
  switch (type) {
    case ScalarType.SINT32:
      return { value: { wireType: WireType.Varint, isZero, write: (writer) => writer.sint32(Number(value)) } };
    case ScalarType.SINT64:
      return { value: { wireType: WireType.Varint, isZero, write: (writer) => writer.sint64(value) } };
    case ScalarType.FIXED32:
      return { value: { wireType: WireType.Bit32, isZero, write: (writer) => writer.fixed32(Number(value)) } };
    case ScalarType.SFIXED32:
      return { value: { wireType: WireType.Bit32, isZero, write: (writer) => writer.sfixed32(Number(value)) } };
    case ScalarType.FIXED64:
      return { value: { wireType: WireType.Bit64, isZero, write: (writer) => writer.fixed64(value) } };
    case ScalarType.SFIXED64:
      return { value: { wireType: WireType.Bit64, isZero, write: (writer) => writer.sfixed64(value) } };
    default:
      return {
        value: { wireType: WireType.Varint, isZero, write: (writer) => writer.int64(BigInt.asIntN(64, value)) },
      };
  }
}

/** Decimal, or hexadecimal after `0x`. */
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
export function parseBase64(text: string, alphabet: 'standard' | 'either'): Buffer | undefined {
  const clean = text.replace(/[\r\n]/g, '');
  const padded = (letters: string) =>
    new RegExp(`^(?:[${letters}]{4})*(?:[${letters}]{2}==|[${letters}]{3}=)?$`).test(clean);
  if (padded('A-Za-z0-9+/')) return Buffer.from(clean, 'base64');
  return alphabet === 'either' && padded('A-Za-z0-9_-') ? Buffer.from(clean, 'base64url') : undefined;
}

export function delimited(bytes: Uint8Array): { value: WireValue } {
  const write = (writer: BinaryWriter) => writer.bytes(bytes);
  return { value: { wireType: WireType.LengthDelimited, isZero: bytes.length === 0, write, body: bytes } };
}

function varint(number: number): { value: WireValue } {
  return { value: { wireType: WireType.Varint, isZero: number === 0, write: (writer) => writer.int32(number) } };
}

function invalid(text: string): { fault: string } {
  return { fault: `parsing ${JSON.stringify(text)}: invalid syntax` };
}
