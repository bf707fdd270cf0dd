/** The PINs people guess first: one digit repeated, runs, repeated groups, years, the end of the phone number. */
export function isWeakPin(pin: string, phoneNumber: string): boolean {
  const digits = Array.from(pin, Number);
  const steps = digits.slice(1).map((digit, i) => (digit - (digits[i] ?? 0) + 10) % 10);
  const isRun = [0, 1, 9].some((step) => steps.every((value) => value === step));
  const isRepeated = /^(\d{2,3})\1+$/.test(pin) || /^(\d)\1(\d)\2((\d)\4)?$/.test(pin);
  const isYear = /^(19|20)\d\d$/.test(pin);
  return isRun || isRepeated || isYear || isMirrored(pin) || phoneNumber.endsWith(pin);
}

/** 1221, 123321: easy to see over a shoulder and among the first guesses. */
function isMirrored(pin: string): boolean {
  return pin.length % 2 === 0 && pin === Array.from(pin).reverse().join('');
}
