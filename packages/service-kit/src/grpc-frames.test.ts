import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeGrpcMessage, encodeGrpcMessage, GrpcFrameReader, toGrpcFrame } from './grpc-frames.ts';

test('messages come out as they went in, however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
      fc.array(fc.nat({ max: 60 }), { maxLength: 12 }),
      (messages, sizes) => {
        const bytes = Buffer.concat(messages.map(toGrpcFrame));
        const reader = new GrpcFrameReader(40);
        const read: Buffer[] = [];
        let start = 0;
        for (const size of [...sizes, bytes.length]) {
          expect(reader.push(bytes.subarray(start, start + size), read)).toBeUndefined();
          start = Math.min(start + size, bytes.length);
        }
        expect(read.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
        expect(reader.isInside()).toBe(false);
      },
    ),
  );
});

test('a message over the limit is refused by its length alone', () => {
  const reader = new GrpcFrameReader(10);
  expect(reader.push(toGrpcFrame(new Uint8Array(10)), [])).toBeUndefined();
  const head = toGrpcFrame(new Uint8Array(11)).subarray(0, 5);
  expect(reader.push(head, [])).toEqual({ kind: 'too large', length: 11 });
});

test('a compressed message is refused, a cut one is known to be unfinished', () => {
  expect(new GrpcFrameReader(10).push(Buffer.from([1, 0, 0, 0, 0]), [])).toEqual({ kind: 'compressed' });
  const reader = new GrpcFrameReader(10);
  const messages: Buffer[] = [];
  expect(reader.push(toGrpcFrame(new Uint8Array(3)).subarray(0, 7), messages)).toBeUndefined();
  expect([messages, reader.isInside()]).toEqual([[], true]);
});

test('any text of an error comes back from its encoded form, which is printable ASCII', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const encoded = encodeGrpcMessage(text);
      expect(encoded).toMatch(/^[ -~]*$/);
      expect(decodeGrpcMessage(encoded)).toBe(text.toWellFormed());
    }),
  );
  expect(decodeGrpcMessage('100%')).toBe('100%');
});
