/** PINs that lists of the most used ones begin with and that no rule below finds: shapes on the keypad, words, dates. */
const wellKnown = new Set(
  `0007 0070 0852 0911 1004 1005 1230 1236 1245 1254 1397 1470 1478 1478 1590 1598 1739 1793 2048 2580 3214 3690 3698 4242
  4444 4545 5683 5555 6666 7410 7412 7788 7890 8520 9630 9632 9870 0420 1010 1337 2112 2310 2552 3131 4200 4711 5150 7777
  12354 12358 13579 14789 15973 24680 25802 31415 36987 43210 75321 78963 86420 97531 98741
  010203 020304 102030 112358 123654 123789 142536 147258 147369 147852 147896 159357 159753 159951 246810 258036 258369
  314159 321654 357159 369258 456123 456789 741852 753951 789456 852456 951753 963852 987456`.match(/\d+/g),
);

export function isWeakPin(pin: string, phoneNumber: string): boolean {
  const digits = Array.from(pin, Number);
  const steps = digits.slice(1).map((digit, i) => (digit - (digits[i] ?? 0) + 10) % 10);
  const isRun = [0, 1, 2, 8, 9].some((step) => steps.every((value) => value === step));
  const isRepeated =
    /^(\d{2,3})\1+$/.test(pin) || /^(\d)\1(\d)\2((\d)\4)?$/.test(pin) || /^(\d)\1{3,}|(\d)\2{3,}$/.test(pin);
  const isYear = /^(19|20)\d\d$/.test(pin);
  const isOfNumber = phoneNumber.includes(pin);
  // 1221, 123321: easy to see over a shoulder and among the first guesses.
  const isMirrored = pin.length % 2 === 0 && pin === Array.from(pin).reverse().join('');
  return isRun || isRepeated || isYear || isMirrored || isOfNumber || wellKnown.has(pin);
}

export function makePin({ phoneNumber = '', others = [] as readonly string[] } = {}): string {
  for (;;) {
    const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
    const pin = String(number % 1_000_000).padStart(6, '0');
    if (!isWeakPin(pin, phoneNumber) && !others.includes(pin)) return pin;
  }
}
