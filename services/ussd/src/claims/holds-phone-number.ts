/** Enough digits to identify a number, also without its country code. */
const lastDigits = 9;

/** Whether a value, or one inside it, holds one of these phone numbers or any in international form. */
export function holdsPhoneNumber(value: unknown, known: readonly string[]): boolean {
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value).replace(/[\s().-]/g, '');
    const digits = text.replace(/\D/g, '');
    return /\+\d{7}/.test(text) || known.some((number) => hasEndOf(number, digits));
  }
  if (typeof value !== 'object' || value === null) return false;
  return [...Object.keys(value), ...Object.values(value)].some((inner) => holdsPhoneNumber(inner, known));
}

function hasEndOf(number: string, digits: string): boolean {
  const end = number.replace(/\D/g, '').slice(-lastDigits);
  return end !== '' && digits.includes(end);
}
