import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, toFrame } from './frames.ts';

test('messages come out as they went in, however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
      fc.array(fc.nat({ max: 60 }), { maxLength: 12 }),
      (messages, sizes) => {
        const bytes = Buffer.concat(messages.map(toFrame));
        const reader = createFrameReader(40);
        const read: Buffer[] = [];
        let start = 0;
        for (const size of [...sizes, bytes.length]) {
          const result = reader.push(bytes.subarray(start, start + size));
          if (!result.ok) throw new Error(result.message);
          read.push(...result.messages);
          start = Math.min(start + size, bytes.length);
        }
        expect(read.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
        expect(reader.isInside()).toBe(false);
      },
    ),
  );
});

test('a message over the limit is refused by its length alone', () => {
  const reader = createFrameReader(10);
  expect(reader.push(toFrame(new Uint8Array(10)))).toMatchObject({ ok: true });
  expect(reader.push(toFrame(new Uint8Array(11)).subarray(0, 5))).toMatchObject({
    ok: false,
    code: 'RESOURCE_EXHAUSTED',
  });
});

test('a compressed message is refused, a cut one is known to be unfinished', () => {
  expect(createFrameReader(10).push(Buffer.from([1, 0, 0, 0, 0]))).toMatchObject({ ok: false, code: 'INTERNAL' });
  const reader = createFrameReader(10);
  expect(reader.push(toFrame(new Uint8Array(3)).subarray(0, 7))).toEqual({ ok: true, messages: [] });
  expect(reader.isInside()).toBe(true);
});
