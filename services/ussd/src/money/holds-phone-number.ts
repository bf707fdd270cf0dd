/** Enough digits to identify a number, also without its country code. */
const lastDigits = 9;

/** Whether a value, or one inside it, holds one of these phone numbers or any in international form. */
export function holdsPhoneNumber(value: unknown, known: readonly string[]): boolean {
  if (typeof value === 'string' || typeof value === 'number') {
    const text = toAsciiDigits(String(value)).replace(/[^\p{L}\p{N}+]/gu, '');
    const digits = text.replace(/\D/g, '');
    return /\+\d{7}/.test(text) || known.some((number) => hasEndOf(number, digits));
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
