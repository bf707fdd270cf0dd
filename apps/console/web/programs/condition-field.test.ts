import { expect, test } from 'vitest';
import { fromLiteral, parseCondition, printCondition, toLiteral } from './condition-field.tsx';
import { toProgramName, toStateName, toTitle, toValue } from './names.ts';

test.each([
  'bags >= 50',
  'consent == "yes" && bags < 3.5',
  'crop == "a && b" || crop != "or \\"x\\""',
  '"maize" in crops',
  'saved >= wanted && caller.language == "sw"',
])('%s is rows of a builder, and the same expression again', (expression) => {
  const condition = parseCondition(expression);
  expect(condition && printCondition(condition)).toBe(expression);
});

test.each(['', 'true', 'a == 1 && b == 2 || c == 3', 'answer % 10 == 0', '(a == 1)', 'size(list) > 2', 'a & b'])(
  '%s is more than rows can say',
  (expression) => {
    expect(parseCondition(expression)).toBeUndefined();
  },
);

test('what is typed becomes a number, another value or a text', () => {
  const names = new Set(['saved']);
  expect(toLiteral('50', 'integer', names)).toBe('50');
  expect(toLiteral('50', 'text', names)).toBe('"50"');
  expect(toLiteral('saved', 'decimal', names)).toBe('saved');
  const quoted = toLiteral('say "no"', 'text', names);
  expect(fromLiteral(quoted)).toBe('say "no"');
  expect(parseCondition(`a == ${quoted}`)?.parts[0]?.value).toBe(quoted);
});

test('names are made of what people write, and are free', () => {
  expect(toProgramName('Water point survey', new Set())).toBe('water-point-survey');
  expect(toProgramName('2026 Élevage', new Set(['elevage']))).toBe('elevage-2');
  expect(toProgramName('مسح', new Set())).toBe('program');
  expect(toStateName('How many people live here?', new Set())).toBe('howManyPeopleLive');
  expect(toStateName('Deposit {amount}?', new Set(['deposit']))).toBe('deposit2');
  expect(toStateName('keepIt', new Set())).toBe('keepIt');
  expect(toValue('Very good!', new Set(['very-good']))).toBe('very-good-2');
  expect(toTitle('water-point-survey')).toBe('Water point survey');
});
