import { expect, test } from 'vitest';
import { holdsPhoneNumber } from '../actions/perform-keywords.ts';

const known = ['+254700000001', ''];

test.each([
  'call +254 700-000-001',
  '0700000001',
  254700000001,
  'someone else: +255711222333',
  'call 0711 222 333',
  '711-222-333',
  '0711,222,333',
  { who: { phone: '+254700000001', language: 'en' } },
  [{ trees: 3 }, { note: ['0700 000 001'] }],
  { '0700000001': true },
])('%j holds a phone number', (value) => {
  expect(holdsPhoneNumber(value, known)).toBe(true);
});

test.each(['٠٧٠٠٠٠٠٠٠١', '०७००/०००/००१', 'someone else: +٢٥٥/٧١١/٢٢٢/٣٣٣', '+255/711/222/333'])(
  '%j, in other digits or with other signs between them, holds a phone number',
  (value) => {
    expect(holdsPhoneNumber(value, known)).toBe(true);
  },
);

test.each(['', 12.5, 700000002, '2026-11-17T10:00:00.000Z', null, { trees: 12, day: '2026-11-17' }, [true, '1+1=2']])(
  '%j holds none',
  (value) => {
    expect(holdsPhoneNumber(value, known)).toBe(false);
  },
);
