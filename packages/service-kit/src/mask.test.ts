import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNumberMask, maskNumbers, printable, toPrintableJson, toPrintableProse } from './mask.ts';

test('digits that are written small or in circles are masked too, and kept where they are no number', () => {
  const mask = createNumberMask('+254700000001');
  for (const text of ['²⁵⁴⁷⁰⁰⁰⁰⁰⁰⁰¹', '₀₇₀₀₀₀₀₀₀₁', '⓪⑦⓪⓪⓪⓪⓪⓪⓪①']) expect(mask(text)).toMatch(/^\d+\*{4}$/);
  expect(mask('10 m², ½')).toBe('10 m², ½');
});

const digitSets = [0x30, 0x660, 0x6f0, 0x966, 0xff10];
const toDigits = (text: string, zero: number) =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
const fromDigits = (text: string) =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const zero = digitSets.find(
      (start) => (digit.codePointAt(0) ?? 0) >= start && (digit.codePointAt(0) ?? 0) < start + 10,
    );
    return String((digit.codePointAt(0) ?? 0) - (zero ?? 0));
  });

const countries = ['254', '234', '33', '1', '880'];
const prefixes = [(code: string) => `+${code}`, (code: string) => `00${code}`, (code: string) => code, () => '0'];
const separators = [
  '',
  ' ',
  '.',
  '-',
  '/',
  ' - ',
  '\u00a0',
  '\u2011',
  ') (',
  ',',
  '_',
  ':',
  '*',
  '|',
  '\n',
  '\u00ad',
  '    ',
  '----',
];

/** A phone number as people write it, and the digits of its subscriber. */
const written = fc
  .record({
    country: fc.constantFrom(...countries),
    prefix: fc.constantFrom(...prefixes),
    subscriber: fc.stringMatching(/^[1-9][0-9]{8}$/),
    groups: fc.array(fc.constantFrom(...separators), { minLength: 8, maxLength: 8 }),
    zero: fc.constantFrom(...digitSets),
    around: fc.constantFrom(
      ['', ''],
      ['call ', '.'],
      ['(', ')'],
      ['tel:', ', please'],
      ['"', '"'],
      ['a/', '/b'],
      ['a', 'b'],
      ['', '****'],
    ),
  })
  .map(({ country, prefix, subscriber, groups, zero, around: [before, after] }) => {
    const spaced = [...subscriber].map((digit, i) => `${i === 0 ? '' : (groups[i - 1] ?? '')}${digit}`).join('');
    return { subscriber, text: `${before}${toDigits(`${prefix(country)}${spaced}`, zero)}${after}` };
  });

test('no number is left whole, however it is written and whoever it belongs to', () => {
  fc.assert(
    fc.property(written, fc.stringMatching(/^\+[1-9][0-9]{10}$/), ({ text, subscriber }, stranger) => {
      for (const owner of [stranger, `+254${subscriber}`])
        expect(fromDigits(createNumberMask(owner)(text)).replace(/\D/g, '')).not.toContain(subscriber.slice(-7));
      expect(fromDigits(createNumberMask(stranger)(text)).replace(/[^\d*]/g, '')).toMatch(/\*{4}$/);
      expect(maskNumbers(maskNumbers(text))).toBe(maskNumbers(text));
    }),
  );
});

test.each([
  '0711-22-23 334',
  '2547-11-22 2333',
  '0.711222333',
  'a0711222333',
  '0711 222 333/0712 333 444',
  '12345678901234567890',
])('%j is a number', (text) => {
  expect(createNumberMask('+254700000001')(text)).toMatch(/\*{3}$/);
});

test('what only resembles a number stays', () => {
  const mask = createNumberMask('+254700000001');
  const texts = [
    '0.123456789',
    '2026-01-02',
    '2026-01-02T10:00:00.000Z',
    '2026-01-02 10:30:00',
    'KES 12,500.50',
    '17 bags',
    'KES 1,250,000.50',
    '2026-01-02 17 bags',
    '2026-01-02/2026-01-05',
    '2026-01-02T10:00:00.000+03:00',
    '12345678901abcde',
    '+25471122****',
  ];
  for (const text of [
    ...texts,
    '1.5',
    '20700',
    '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
    '12345678-1234-4123-8123-123456789012',
  ])
    expect(mask(text)).toBe(text);
});

test.each([
  ['a control character', '\u009b2K', '"\\u009b2K"'],
  ['delete', 'a\u007f', '"a\\u007f"'],
  ['text in the other direction', '\u202eevil\u2066', '"\\u202eevil\\u2066"'],
  ['a line separator', '\u2028', '"\\u2028"'],
  ['a character of two units that cannot be seen', '\u{e0041}', '"\\udb40\\udc41"'],
])('%s is escaped, and still the same JSON', (_name, text, shown) => {
  expect(toPrintableJson(text)).toBe(shown);
  expect(JSON.parse(shown)).toBe(text);
});

test('letters of every script stay', () => {
  expect(toPrintableJson({ to: 'Ané שלום 王 🐐' })).toBe('{"to":"Ané שלום 王 🐐"}');
});

test('a line has values of somebody else in it, and stays one line', () => {
  expect(printable`⚙ ${'pay\u001b[8m\n'} ${1}\n`).toBe('⚙ pay\\u001b[8m\\u000a 1\n');
});

test('prose keeps its lines, its words and its emoji, and nothing that styles or reverses it', () => {
  const text = 'Ané\n\tمی\u200cخواهم 👩\u200d🌾';
  expect(toPrintableProse(text)).toBe(text);
  expect(toPrintableProse('a\r\u001b[8mb\u202e\u009b')).toBe('a\\u000d\\u001b[8mb\\u202e\\u009b');
});
