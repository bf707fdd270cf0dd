import { expect, test } from 'vitest';
import { isWeakPin } from './pin-rules.ts';

const phone = '+254700123987';

test.each([
  '0000',
  '1111',
  '999999',
  '1234',
  '2345',
  '4321',
  '123456',
  '654321',
  '7890',
  '1212',
  '123123',
  '1122',
  '112233',
  '1221',
  '1990',
  '2024',
  '3987',
  '123987',
  '2580',
  '0852',
  '1357',
  '8642',
  '147258',
  '159753',
  '5683',
  '47001',
  '00001',
])('%s is refused', (pin) => {
  expect(isWeakPin(pin, phone)).toBe(true);
});

test.each(['4071', '90214', '730915', '8305'])('%s is accepted', (pin) => {
  expect(isWeakPin(pin, phone)).toBe(false);
});
