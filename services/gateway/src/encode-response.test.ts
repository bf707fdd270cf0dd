import { isUtf8 } from 'node:buffer';
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryWire } from '../test/arbitrary-message.ts';
import { fixtureType, loadFixtureSchema, loadGolden } from '../test/fixture-schema.ts';
import { interpretMessage } from '../test/interpret-message.ts';
import { parseProtoFiles } from './descriptors/parse-proto-files.ts';
import { createSchema } from './descriptors/schema.ts';
import { createEncoder } from './encode-response.ts';
import { pieceBytes } from './printer/pieces.ts';

const schema = loadFixtureSchema();
const encoder = createEncoder(schema.registry);
const shapes = ['Scalars', 'Lists', 'Maps', 'Choice', 'Tree', 'Times', 'Wrapped', 'Loose', 'Anys', 'Customs'];

interface Golden {
  type: string;
  note: string;
  wire: string;
  json?: string;
  error?: string;
}

function printJson(type: string, bytes: Uint8Array): string {
  const encoded = encoder.encode(fixtureType(schema, type), bytes);
  if (!encoded.ok) throw new Error(encoded.message);
  return encoded.json;
}

test.each(loadGolden<Golden>('json'))('$type, $note: as the reference prints it', ({ type, wire, json }) => {
  const encoded = encoder.encode(fixtureType(schema, type), Buffer.from(wire, 'hex'));
  if (json === undefined) expect(encoded.ok).toBe(false);
  else expect(encoded).toEqual({ ok: true, json });
});

test('occurrences of a message that add up to nothing are still one message', () => {
  const leaf = (name: string) => [42, name.length + 2, 10, name.length, ...Buffer.from(name)];
  const bytes = Buffer.from([...leaf('<'), 42, 0, ...leaf('x'), ...leaf('')]);
  expect(JSON.parse(printJson('Tree', bytes)).whole_leaf).toEqual({ name: '', weight: '0' });
});

describe.each(shapes)('random messages of %s', (name) => {
  const type = fixtureType(schema, name);
  const messages = arbitraryWire(type, schema.registry);

  test('print as the interpreter prints them', () => {
    fc.assert(
      fc.property(messages, (bytes) => {
        expect(printJson(name, bytes)).toBe(interpretMessage(type, bytes, schema.registry));
      }),
      { numRuns: 300 },
    );
  });

  test('cut short or changed in one byte, never throw', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.nat(255), fc.boolean(), (bytes, at, value, cut) => {
        const broken = cut ? bytes.slice(0, at % (bytes.length + 1)) : bytes.slice();
        if (!cut && broken.length > 0) broken[at % broken.length] = value;
        const encoded = encoder.encode(type, broken);
        if (encoded.ok) JSON.parse(encoded.json);
        else expect(encoded.message).not.toBe('');
      }),
      { numRuns: 300 },
    );
  });
});

test('where the rules agree, the JSON is that of @bufbuild/protobuf', () => {
  const type = fixtureType(schema, 'Lists');
  // The digits of 32-bit floats are the one difference in lists: Go writes the shortest that are exact.
  const comparable = (json: string) => {
    // JavaScript writes -0 as 0, Go as -0.
    const { narrow, ...rest } = JSON.parse(json, (_key, value) => (value === 0 ? 0 : value));
    return {
      ...rest,
      narrow: narrow.map((value: unknown) => (typeof value === 'number' ? Math.fround(value) : value)),
    };
  };
  fc.assert(
    fc.property(arbitraryWire(type, schema.registry), (bytes) => {
      const theirs = toJson(type, fromBinary(type, bytes), { alwaysEmitImplicit: true, useProtoFieldName: true });
      expect(comparable(printJson('Lists', bytes))).toEqual(comparable(JSON.stringify(theirs)));
    }),
  );
});

test('random bytes are printed or refused, never thrown at', () => {
  fc.assert(
    fc.property(fc.constantFrom(...shapes), fc.uint8Array({ maxLength: 200 }), (name, bytes) => {
      const encoded = encoder.encode(fixtureType(schema, name), bytes);
      if (encoded.ok) JSON.parse(encoded.json);
    }),
    { numRuns: 2_000 },
  );
});

test('a message nested a thousand deep is refused', () => {
  let bytes = Buffer.alloc(0);
  for (let depth = 0; depth < 1000; depth += 1) {
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([0x12, ...length]), bytes]);
  }
  expect(encoder.encode(fixtureType(schema, 'Tree'), bytes)).toEqual({ ok: false, message: 'nested too deeply' });
});

test('a long row of the same message field takes linear time', () => {
  const once = Buffer.from([0x22, 0x02, 0x10, 0x05]);
  const many = Buffer.concat(Array.from({ length: 50_000 }, () => once));
  expect(printJson('Tree', many)).toBe(printJson('Tree', once));
});

test('an Any of an unknown type names the type that is missing', () => {
  const bytes = Buffer.concat([Buffer.from([0x0a, 0x10, 0x0a, 0x0e]), Buffer.from('/no.such.Thing')]);
  expect(encoder.encode(fixtureType(schema, 'Anys'), bytes)).toEqual({
    ok: false,
    message: 'unable to resolve type URL /no.such.Thing',
    missingTypes: ['no.such.Thing'],
  });
});

test('a response body is the JSON of one field', () => {
  const type = fixtureType(schema, 'Tree');
  const bytes = Buffer.from([0x22, 0x02, 0x10, 0x05, 0x0a, 0x01, 0x61]);
  expect(encoder.encode(type, bytes, 'leaf')).toEqual({ ok: true, json: '{"name":"","weight":"5"}' });
  expect(encoder.encode(type, bytes, 'children')).toEqual({ ok: true, json: '[]' });
});

test('a non-nullable Any is printed where it is set and refused where it is not', () => {
  const text = `syntax = "proto3"; package n; import "google/protobuf/any.proto"; import "google/protobuf/empty.proto"; import "gogoproto/gogo.proto";
    message Out { google.protobuf.Any any = 1 [(gogoproto.nullable) = false];
      map<string, google.protobuf.Any> all = 2 [(gogoproto.nullable) = false]; string s = 3; }`;
  const { registry } = createSchema({ files: parseProtoFiles([{ name: 'n.proto', text }]), services: [] });
  const type = registry.getMessage('n.Out');
  if (!type) throw new Error('no n.Out');
  const strict = createEncoder(registry);
  const bytes = (...parts: [tag: number, value: string | Uint8Array][]) =>
    Buffer.concat(parts.map(([tag, value]) => Buffer.concat([Buffer.from([tag, value.length]), Buffer.from(value)])));
  const empty = bytes([0x0a, '/google.protobuf.Empty']);
  expect(strict.encode(type, bytes([0x0a, empty], [0x12, bytes([0x0a, 'k'], [0x12, empty])]))).toEqual({
    ok: true,
    json: '{"any":{"@type":"/google.protobuf.Empty","value":{}},"all":{"k":{"@type":"/google.protobuf.Empty","value":{}}},"s":""}',
  });
  expect(strict.encode(type, bytes([0x1a, 'text'])).ok).toBe(false);
});

/** What a function gives, and the turns of the event loop until then. */
async function countTurns<T>(run: () => Promise<T>): Promise<[T, number]> {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const result = await run();
  clearImmediate(timer);
  return [result, turns];
}

test('a large message is printed in as many turns of the event loop as it has pieces, with the same JSON', async () => {
  const leaf = Buffer.from([0x42, 0x06, 0x0a, 0x02, 0x3c, 0x61, 0x10, 0x05]);
  const numbers = Buffer.alloc(400_000, 7);
  const packed = Buffer.concat([Buffer.from([0x22, 0x80, 0xb5, 0x18]), numbers]);
  const bytes = Buffer.concat([...Array.from({ length: 100_000 }, () => leaf), packed, leaf, packed]);
  const type = fixtureType(schema, 'Lists');
  const [[first, second], turns] = await countTurns(() =>
    Promise.all([encoder.encodeInPieces(type, bytes), encoder.encodeInPieces(type, bytes)]),
  );
  const json = printJson('Lists', bytes);
  expect([first, second].map((encoded) => encoded.ok && encoded.json.toString() === json)).toEqual([true, true]);
  expect(turns).toBeGreaterThanOrEqual((2 * bytes.length) / pieceBytes);
});

test('a large map is sorted and printed in as many turns, with the same JSON; so are the fields of a Struct', async () => {
  const proto = `syntax = "proto3"; package large; import "google/protobuf/struct.proto";
    message Maps { map<string, string> texts = 1; map<uint64, string> numbers = 2; google.protobuf.Struct struct = 3; }`;
  const large = createSchema({ files: parseProtoFiles([{ name: 'large.proto', text: proto }]), services: [] });
  const type = large.registry.getMessage('large.Maps');
  if (!type) throw new Error('no large.Maps');
  const { encode, encodeInPieces } = createEncoder(large.registry);
  const field = (no: number, value: Uint8Array | string) =>
    new BinaryWriter().tag(no, WireType.LengthDelimited).bytes(Buffer.from(value)).finish();
  const count = 40_000;
  const orders = Array.from({ length: count }, (_, index) => (index * 7_919) % count);
  const maps = Buffer.concat([
    ...orders.map((order) => field(1, Buffer.concat([field(1, `k${order}`), field(2, `v${order}`)]))),
    ...orders.map((order) =>
      field(2, Buffer.concat([new BinaryWriter().tag(1, WireType.Varint).uint64(order).finish(), field(2, 'n')])),
    ),
    field(
      3,
      Buffer.concat(orders.map((order) => field(1, Buffer.concat([field(1, `s${order}`), field(2, field(3, 'x'))])))),
    ),
  ]);
  const [printed, turns] = await countTurns(() => encodeInPieces(type, maps));
  const byBytes = (prefix: string, value: (order: number) => string) =>
    orders.map((order) => [`${prefix}${order}`, value(order)] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  const object = (entries: (readonly [string, string])[]) =>
    `{${entries.map(([key, value]) => `"${key}":"${value}"`)}}`;
  const numbers = [...orders].sort((a, b) => a - b).map((order) => [String(order), 'n'] as const);
  const json = `{"texts":${object(byBytes('k', (order) => `v${order}`))},"numbers":${object(numbers)},"struct":${object(byBytes('s', () => 'x'))}}`;
  expect(printed.ok && printed.json.toString() === json).toBe(true);
  expect(encode(type, field(1, Buffer.concat([field(1, 'k'), field(2, 'v')])))).toMatchObject({ ok: true });
  // Of each map, ten runs are sorted, merged four times, and printed.
  expect(turns).toBeGreaterThan(maps.length / pieceBytes + 3 * (10 + 3 * 10 + 10));
});

test('a message of a few pieces does not wait for long ones that came before it', async () => {
  const leaf = Buffer.from([0x42, 0x06, 0x0a, 0x02, 0x3c, 0x61, 0x10, 0x05]);
  const message = (count: number) => Buffer.concat(Array.from({ length: count }, () => leaf));
  const type = fixtureType(schema, 'Lists');
  const ended: string[] = [];
  const print = async (name: string, count: number) => {
    await encoder.encodeInPieces(type, message(count));
    ended.push(name);
  };
  await Promise.all([print('first', 200_000), print('second', 200_000), print('short', 20_000)]);
  expect(ended).toEqual(['short', 'first', 'second']);
});

/** Field 9 of `Scalars`. */
const toText = (text: Uint8Array) =>
  Buffer.from(new BinaryWriter().tag(9, WireType.LengthDelimited).bytes(text).finish());

test('a long text is printed in pieces, cut between characters, and repaired where it is not UTF-8', async () => {
  const type = fixtureType(schema, 'Scalars');
  const parts = fc.constantFrom('<', 'é', '€', '😀', '\u2028', 'a', '"', '\0').map((text) => Buffer.from(text));
  const broken = fc.constantFrom(
    [0xff],
    [0xc3],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98],
    [0x80, 0x80],
    [0xc0, 0xaf],
  );
  const some = fc.array(fc.oneof(parts, broken.map(Buffer.from)), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(some, fc.nat(8), async (list, shift) => {
      const part = Buffer.concat(list);
      const text = Buffer.concat([
        Buffer.alloc(shift, 'x'),
        ...Array(Math.ceil((3 * pieceBytes) / part.length)).fill(part),
      ]);
      const [encoded, turns] = await countTurns(() => encoder.encodeInPieces(type, toText(text)));
      if (!encoded.ok) throw new Error(encoded.message);
      expect(encoded.json.toString()).toBe(printJson('Scalars', toText(text)));
      expect(turns).toBeGreaterThanOrEqual(3);
    }),
    { numRuns: 60 },
  );
});

test('text that is not UTF-8 has one replacement for each byte that does not belong', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      expect(JSON.parse(printJson('Scalars', toText(bytes))).text).toBe(decodeAsGo(bytes));
    }),
    { numRuns: 2_000 },
  );
});

/** Decodes the longest character at each place. */
function decodeAsGo(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)));
    text += size ? Buffer.from(bytes.subarray(at, at + size)).toString() : '\ufffd';
    at += size ?? 1;
  }
  return text;
}

test('messages of two bytes that print many are printed in pieces too, up to a limit', async () => {
  const type = fixtureType(schema, 'Lists');
  const leaves = (count: number) => Buffer.concat(Array.from({ length: count }, () => Buffer.from([0x4a, 0])));
  const few = await encoder.encodeInPieces(type, leaves(500_000));
  expect(few.ok && JSON.parse(few.json.toString()).whole_leaf).toHaveLength(500_000);
  const [many, turns] = await countTurns(() => encoder.encodeInPieces(type, leaves(4_000_000)));
  expect(many).toMatchObject({ ok: false, isTooLarge: true, message: expect.stringContaining('64 MiB') });
  expect(turns).toBeGreaterThan(20);
  // What is small on the wire and long as JSON is not printed at once either.
  expect(encoder.encode(type, leaves(500_000))).toMatchObject({ ok: false });
});

test('an integer of a million digits is refused at once', async () => {
  const bytes = new BinaryWriter().tag(1, WireType.LengthDelimited).string('9'.repeat(3_000_000)).finish();
  expect(encoder.encode(fixtureType(schema, 'Customs'), bytes)).toMatchObject({ message: 'integer out of range' });
});

// The library refuses field masks of any text, which `Loose` has.
describe.each(shapes.filter((name) => name !== 'Loose'))('random messages of %s in standard JSON', (name) => {
  const type = fixtureType(schema, name);
  const standard = createEncoder(schema.registry, true);
  // 32-bit floats have their own digits here, and the library writes -0 as 0.
  const tidy = (json: string) =>
    JSON.parse(json, (_key, value) => (typeof value === 'number' ? Math.fround(value) + 0 : value));

  test('print as @bufbuild/protobuf prints them, in pieces too', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryWire(type, schema.registry), async (bytes) => {
        const expected = JSON.stringify(toJson(type, fromBinary(type, bytes), { registry: schema.registry }));
        const encoded = standard.encode(type, bytes);
        expect(encoded).toMatchObject({ ok: true });
        if (encoded.ok) expect(tidy(encoded.json)).toEqual(tidy(expected));
        const inPieces = await standard.encodeInPieces(type, bytes);
        expect(inPieces.ok && inPieces.json.toString()).toBe(encoded.ok && encoded.json);
      }),
      { numRuns: 200 },
    );
  });
});
