// Random wire bytes of a message type: fields in any order, repeated, packed or not, with unknown fields in between.
import { type DescEnum, type DescField, type DescMessage, type Registry, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { readFieldRules } from '../src/descriptors/options.ts';
import { findCustomType } from '../src/printer/custom-types.ts';

type Write = (writer: BinaryWriter) => BinaryWriter;

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('<', '>', '&', '"', '\\', '\n', '\u2028', '\u0001', 'a', 'é', '漢') }),
);
const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt(-20n, 20n));
const uint64 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt(0n, 20n));

function scalar(type: ScalarType): { wireType: WireType; write: fc.Arbitrary<Write> } {
  const of = <T>(
    wireType: WireType,
    values: fc.Arbitrary<T>,
    write: (writer: BinaryWriter, value: T) => BinaryWriter,
  ) => ({
    wireType,
    write: values.map(
      (value): Write =>
        (writer) =>
          write(writer, value),
    ),
  });
  switch (type) {
    case ScalarType.DOUBLE:
      return of(WireType.Bit64, fc.double(), (writer, value) => writer.double(value));
    case ScalarType.FLOAT:
      return of(WireType.Bit32, fc.float(), (writer, value) => writer.float(value));
    case ScalarType.INT64:
      return of(WireType.Varint, int64, (writer, value) => writer.int64(value));
    case ScalarType.UINT64:
      return of(WireType.Varint, uint64, (writer, value) => writer.uint64(value));
    case ScalarType.SINT64:
      return of(WireType.Varint, int64, (writer, value) => writer.sint64(value));
    case ScalarType.FIXED64:
      return of(WireType.Bit64, uint64, (writer, value) => writer.fixed64(value));
    case ScalarType.SFIXED64:
      return of(WireType.Bit64, int64, (writer, value) => writer.sfixed64(value));
    case ScalarType.INT32:
      return of(WireType.Varint, fc.integer(), (writer, value) => writer.int32(value));
    case ScalarType.UINT32:
      return of(WireType.Varint, fc.nat(), (writer, value) => writer.uint32(value));
    case ScalarType.SINT32:
      return of(WireType.Varint, fc.integer(), (writer, value) => writer.sint32(value));
    case ScalarType.FIXED32:
      return of(WireType.Bit32, fc.nat(), (writer, value) => writer.fixed32(value));
    case ScalarType.SFIXED32:
      return of(WireType.Bit32, fc.integer(), (writer, value) => writer.sfixed32(value));
    case ScalarType.BOOL:
      return of(WireType.Varint, fc.boolean(), (writer, value) => writer.bool(value));
    case ScalarType.STRING:
      return of(WireType.LengthDelimited, text, (writer, value) => writer.string(value));
    case ScalarType.BYTES:
      return of(WireType.LengthDelimited, fc.uint8Array({ minLength: 1, maxLength: 9 }), (writer, value) =>
        writer.bytes(value),
      );
  }
}

function enumeration(type: DescEnum): { wireType: WireType; write: fc.Arbitrary<Write> } {
  const numbers = fc.oneof(
    fc.constantFrom(...type.values.map(({ number }) => number)),
    fc.integer({ min: 40, max: 44 }),
  );
  return {
    wireType: WireType.Varint,
    write: numbers.map(
      (number): Write =>
        (writer) =>
          writer.int32(number),
    ),
  };
}

function delimited(bytes: fc.Arbitrary<Uint8Array>): { wireType: WireType; write: fc.Arbitrary<Write> } {
  return {
    wireType: WireType.LengthDelimited,
    write: bytes.map(
      (value): Write =>
        (writer) =>
          writer.bytes(value),
    ),
  };
}

/** Seconds and nanos of one sign, within what every Go type can hold. */
const duration = fc
  .tuple(fc.nat(9_000_000), fc.constantFrom(0, 1, 1000, 120_000_000, 999_999_999), fc.constantFrom(1, -1))
  .map(([seconds, nanos, sign]) =>
    new BinaryWriter()
      .uint32(8)
      .int64(seconds * sign)
      .uint32(16)
      .int32(nanos * sign)
      .finish(),
  );
const timestamp = fc
  .tuple(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), fc.constantFrom(0, 5, 7000, 100_000_000))
  .map(([seconds, nanos]) => new BinaryWriter().uint32(8).int64(seconds).uint32(16).int32(nanos).finish());

/** Wire bytes of `type`; types may nest `depth` levels below it. */
export function arbitraryWire(type: DescMessage, registry: Registry, depth = 3): fc.Arbitrary<Uint8Array> {
  const nested = (message: DescMessage) => arbitraryWire(message, registry, depth - 1);
  if (type.typeName === 'google.protobuf.Duration') return duration;
  if (type.typeName === 'google.protobuf.Timestamp') return timestamp;
  if (type.typeName === 'google.protobuf.Any') {
    const inner = ['fixture.v1.Leaf', 'fixture.v1.Choice', 'google.protobuf.Duration', 'google.protobuf.StringValue']
      .flatMap((name) => registry.getMessage(name) ?? [])
      .map((message) =>
        nested(message).map((value) =>
          new BinaryWriter().uint32(10).string(`/${message.typeName}`).uint32(18).bytes(value).finish(),
        ),
      );
    return fc.oneof(...inner);
  }
  const fields = type.fields
    .filter((field) => depth > 0 || !field.message)
    .map((field) => arbitraryField(field, nested));
  const unknown = fc
    .tuple(fc.integer({ min: 900, max: 999 }), text)
    .map(([no, value]) => new BinaryWriter().tag(no, WireType.LengthDelimited).string(value).finish());
  const required = type.typeName === 'google.protobuf.Value' ? 1 : 0;
  if (required) return depth > 0 ? fc.oneof(...fields) : fc.constant(Uint8Array.from([8, 0]));
  const parts = fields.length === 0 ? unknown : fc.oneof({ arbitrary: fc.oneof(...fields), weight: 9 }, unknown);
  const pieces = fc.array(parts, { maxLength: Math.min(12, type.fields.length + 2) });
  // A message that is a oneof's member: a second one replaces it in Go and adds to it everywhere else. Kept out of here,
  // and so are second ones of what holds such a member: the two would be one message with it twice.
  const members = new Set(type.fields.filter((field) => holdsMember(field)).map((field) => field.number));
  return pieces.map((list) => Buffer.concat(list.filter((_piece, at) => !isRepeated(members, list, at))));
}

function holdsMember({ fieldKind, oneof, message }: DescField, seen: DescMessage[] = []): boolean {
  if (fieldKind !== 'message' || !message || seen.includes(message)) return false;
  const isMember = oneof !== undefined || message.typeName === 'google.protobuf.Value';
  return isMember || message.fields.some((inner) => holdsMember(inner, [...seen, message]));
}

function isRepeated(members: Set<number>, pieces: Uint8Array[], at: number): boolean {
  const no = (piece: Uint8Array | undefined) => new BinaryReader(piece ?? new Uint8Array([8])).tag()[0];
  return members.has(no(pieces[at])) && pieces.slice(0, at).some((earlier) => no(earlier) === no(pieces[at]));
}

function arbitraryField(field: DescField, nested: (type: DescMessage) => fc.Arbitrary<Uint8Array>) {
  const value = arbitraryValue(field, nested);
  if (field.fieldKind === 'map') {
    const key = scalar(field.mapKey);
    return fc.tuple(key.write, value.write).map(([writeKey, writeValue]) => {
      const entry = new BinaryWriter().tag(1, key.wireType);
      writeValue(writeKey(entry).tag(2, value.wireType));
      return new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(entry.finish()).finish();
    });
  }
  const single = value.write.map((write) => write(new BinaryWriter().tag(field.number, value.wireType)).finish());
  if (field.fieldKind !== 'list' || value.wireType === WireType.LengthDelimited) return single;
  const packed = fc.array(value.write, { maxLength: 4 }).map((writes) => {
    const inner = new BinaryWriter();
    for (const write of writes) write(inner);
    return new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(inner.finish()).finish();
  });
  return fc.oneof(single, packed);
}

function arbitraryValue(field: DescField, nested: (type: DescMessage) => fc.Arbitrary<Uint8Array>) {
  if (field.message) return delimited(nested(field.message));
  if (field.enum) return enumeration(field.enum);
  const rules = readFieldRules(field);
  if (rules.customType && findCustomType(rules)) {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 40n }).map((value) => Buffer.from(String(value)));
    return delimited(digits);
  }
  return scalar(field.scalar ?? ScalarType.STRING);
}
