// Well-known types that a single text sets: `?at=2024-01-02T03:04:05Z`, `?wait=1m30s`, wrappers, field masks and JSON.
import { type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { isJsonTooDeep } from '@palaver/service-kit/internal';
import { delimited, type Parsed, parseBase64, parseInteger, parseScalar, type WireValue } from './parse-scalar.ts';

const wrappers: Record<string, ScalarType> = {
  DoubleValue: ScalarType.DOUBLE,
  FloatValue: ScalarType.FLOAT,
  Int64Value: ScalarType.INT64,
  Int32Value: ScalarType.INT32,
  UInt64Value: ScalarType.UINT64,
  UInt32Value: ScalarType.UINT32,
  BoolValue: ScalarType.BOOL,
  StringValue: ScalarType.STRING,
  BytesValue: ScalarType.BYTES,
};

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
  const scalar = Object.hasOwn(wrappers, type.name) ? wrappers[type.name] : undefined;
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
