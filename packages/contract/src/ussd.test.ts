import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ussdLimits } from './limits.ts';
import { ussdReplySchema, ussdRequestSchema } from './ussd.ts';
import { ussdReplies } from './ussd-replies.ts';

const valid = { sessionId: 'ATUid_1', serviceCode: '*1234#', phoneNumber: '+254700000001', text: '' };
const accepts = (change: Record<string, unknown>) => ussdRequestSchema.safeParse({ ...valid, ...change }).success;

test.each([
  ['serviceCode', '*1#'],
  ['serviceCode', '*384*96#'],
  ['serviceCode', `*${'1'.repeat(30)}#`],
  ['phoneNumber', '+1234567'],
  ['phoneNumber', '+123456789012345'],
  ['sessionId', 'a'],
  ['sessionId', '!'.repeat(100)],
  ['sessionId', '~:/?#[]@'],
  ['text', '1*2**'],
  ['text', 'é'.repeat(182)],
  ['text', '🌳'.repeat(182)],
  ['text', 'Amina Wanjiru * नमस्ते'],
])('%s accepts %j', (field, value) => {
  expect(accepts({ [field]: value })).toBe(true);
});

test.each([
  ['serviceCode', ''],
  ['serviceCode', '1234#'],
  ['serviceCode', '*1234'],
  ['serviceCode', '*#'],
  ['serviceCode', '**1#'],
  ['serviceCode', '*1*#'],
  ['serviceCode', '*12a#'],
  ['serviceCode', '*123#\n'],
  ['serviceCode', '*١٢٣#'],
  ['serviceCode', `*${'1'.repeat(31)}#`],
  ['phoneNumber', '254700000001'],
  ['phoneNumber', '+0254700000001'],
  ['phoneNumber', '+123456'],
  ['phoneNumber', '+1234567890123456'],
  ['phoneNumber', '+254 700 000 001'],
  ['phoneNumber', '+254700000001\n'],
  ['phoneNumber', 254700000001],
  ['sessionId', ''],
  ['sessionId', 'a'.repeat(101)],
  ['sessionId', 'a b'],
  ['sessionId', 'é'],
  ['sessionId', 'a\u007f'],
  ['sessionId', ['a']],
  ['text', undefined],
  ['text', null],
  ['text', 1],
  ['text', '1'.repeat(183)],
  ['text', '🌳'.repeat(183)],
  ['text', '1\n2'],
  ['text', '\u0000'],
  ['text', '\u001b'],
  ['text', '\u007f'],
  ['text', '\u0085'],
])('%s refuses %j', (field, value) => {
  expect(accepts({ [field]: value })).toBe(false);
});

test('extra fields are ignored and left out', () => {
  expect(ussdRequestSchema.parse({ ...valid, networkCode: '63902' })).toEqual(valid);
});

test.each([undefined, null, 'text', [], 1])('a body that is no object is refused: %j', (body) => {
  expect(ussdRequestSchema.safeParse(body).success).toBe(false);
});

test('text is measured in code points whatever it is made of', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const expected = [...text].length <= ussdLimits.textCharacters && !/\p{Cc}/u.test(text);
      expect(accepts({ text })).toBe(expected);
    }),
  );
});

test('the fixed replies are replies', () => {
  for (const reply of Object.values(ussdReplies)) expect(ussdReplySchema.parse(reply)).toBe(reply);
  expect(ussdReplySchema.safeParse('CONtinue').success).toBe(false);
});
