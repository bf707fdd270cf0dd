import { expect, test } from 'vitest';
import { pinPattern, uuidPattern } from './patterns.ts';

test.each([
  ['1357', true],
  ['135790', true],
  ['135', false],
  ['1357902', false],
  ['12a4', false],
  ['1234\n', false],
  ['١٢٣٤', false],
])('PIN %j: %s', (pin, expected) => {
  expect(pinPattern.test(pin)).toBe(expected);
});

test.each([
  ['01890a5d-ac96-774b-bcce-b302099a8057', true],
  ['01890a5d-ac96-474b-bcce-b302099a8057', false],
  ['01890a5d-ac96-774b-bcce-b302099a8057\u0000', false],
  ['abort', false],
])('id %j: %s', (id, expected) => {
  expect(uuidPattern.test(id)).toBe(expected);
});
