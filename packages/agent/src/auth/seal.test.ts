import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSeal } from './seal.ts';

const seal = createSeal(Buffer.alloc(32, 1));

test('what is sealed opens for its owner alone, with its key alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, owner) => {
      const sealed = seal.seal(text, owner);
      expect(seal.open(sealed, owner)).toBe(text);
      expect(seal.open(sealed, `${owner}x`)).toBeUndefined();
      expect(createSeal(Buffer.alloc(32, 2)).open(sealed, owner)).toBeUndefined();
    }),
  );
});

test('the same text is never sealed the same way twice', () => {
  expect(seal.seal('text', 'owner')).not.toBe(seal.seal('text', 'owner'));
});

test('a change of any byte is noticed', () => {
  const sealed = Buffer.from(seal.seal('a delegation', 'owner'), 'base64');
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(seal.open(changed.toString('base64'), 'owner')).toBeUndefined();
  }
  for (const broken of ['', 'x', sealed.subarray(0, 27).toString('base64')])
    expect(seal.open(broken, 'owner')).toBeUndefined();
});
