import { maskNumbers } from '@palaver/service-kit/internal';

/** Enough digits to identify a number, also without its country code. */
const lastDigits = 9;

/** Whether a value, or one inside it, holds one of these phone numbers or a text that viewers would see masked. */
export function holdsPhoneNumber(value: unknown, known: readonly string[]): boolean {
  if (typeof value === 'string' || typeof value === 'number') {
    if (typeof value === 'string' && maskNumbers(value) !== value) return true;
    const digits = toAsciiDigits(String(value)).replace(/\D/g, '');
    return known.some((number) => hasEndOf(number, digits));
  }
  if (typeof value !== 'object' || value === null) return false;
  return [...Object.keys(value), ...Object.values(value)].some((inner) => holdsPhoneNumber(inner, known));
}

/** Digits of every script follow each other from zero to nine. */
function toAsciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zero = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  });
}

function hasEndOf(number: string, digits: string): boolean {
  const end = number.replace(/\D/g, '').slice(-lastDigits);
  return end !== '' && digits.includes(end);
}
