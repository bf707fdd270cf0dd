import { serializeError } from './errors.ts';

const secretNames =
  /^(.*(pin|secret|password|passphrase|token|api-?_?key|private-?_?key|encryption-?_?key|invocation|delegation|raw)|authorization|cookie|set-cookie|x-gateway-secret)$/i;

// In a path the plus may be escaped.
const phone = /(?<![\w.])(?:\+|%2B)[1-9]\d{2,10}(\d{4})(?!\d)/gi;
const bearer = /\b(Bearer\s+)[\w.+/=~-]+/gi;
// Bounded, so that a long text of no URL costs linear time.
const urlPassword = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]{0,200}):[^\s/@]{1,500}@/gi;

// A UCAN: the beginning of a CAR archive in base64, base64url or multibase.
const ucan = /[mu]?OqJlcm9vdHOB[\w+/=%-]+/g;
const ucanStart = 'OqJlcm9vdHOB';

const maxDepth = 6;

const spacedPhone = /(?<![\w.])\+[1-9](?:[ ().-]{0,2}\d){6,17}/g;
/** A line break may be inside a number unless the key of a menu's line follows it: `0. Back`. */
const between = '(?:[^\\p{L}\\p{N}\\n]{0,4}|\\n(?!\\d{1,2}\\. ))';
const date = '(?:19|20)\\d\\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])';
/** What stays although it has as many digits: ids, hashes, times, fractions, amounts, and masked numbers. */
const readable = [
  '[\\da-f]{8}-(?:[\\da-f]{4}-){3}[\\da-f]{12}(?![\\p{L}\\p{N}])',
  '(?=\\d*[a-f])(?:[\\da-f]{16}|[\\da-f]{32,})(?![\\p{L}\\p{N}])',
  // Not before a group of digits that may belong to a number, except another date.
  `${date}(?:[T ](?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,6})?)?(?:Z|[+-]\\d\\d:?\\d\\d)?)?(?!${between}(?!${date})\\p{Nd}{3}|-?\\p{Nd})`,
  // A number in national form has a zero and eight to ten digits, and seldom a 0 or 1 after the zero.
  '0\\.(?![2-9]\\d{7,9}(?!\\d))\\d+(?![\\p{N}.])',
  '[1-9]\\d?(?:,\\d{3}){1,2}\\.\\d\\d(?![\\p{N}.,])',
  '(?:\\+|%2B)\\d{7,8}\\*{4,}',
];
/** What is readable, or what may be a phone number: digits of any script and what people write between them. */
const numberLike = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${readable.join('|')})|((?:\\+|%2B)?\\p{Nd}(?:${between}\\p{Nd}){6,})`,
  'giu',
);
/** Without a plus, fewer digits are an amount. */
const fewestDigits = 9;
/** Fewer digits are shared by too many numbers; every country's own numbers have as many. */
const ownDigits = 7;

/** Digits shown of a number without blanks: with more, the rest would look like a whole number again. */
const mostShown = 8;
/** And of one with blanks or dashes: digits that follow may belong to it. */
const mostShownOfSpaced = 5;

/** An E.164 number without its last four digits, or more of a long one: `+25471234****`. */
export function maskPhone(number: string): string {
  const [, plus = '', digits = ''] = /^(%2B)?(.*)$/is.exec(number) ?? [];
  return plus + maskAfter(mostShown, digits);
}

/** Shows none of the last four digits. */
function maskAfter(most: number, number: string): string {
  let left = Math.min(most, (number.match(/\p{Nd}/gu)?.length ?? 0) - 4);
  return number.replace(/\p{Nd}/gu, (digit) => (left-- > 0 ? digit : '*'));
}

export function maskNumbers(text: string): string {
  return text.replace(numberLike, (match, number: string | undefined) => {
    if (number === undefined) return match;
    const [, prefix = '', digits = ''] = /^(\+|%2B)?(.*)$/is.exec(number) ?? [];
    if (prefix === '' && (digits.match(/\p{Nd}/gu)?.length ?? 0) < fewestDigits) return match;
    return prefix + (/\P{Nd}/u.test(digits) ? maskAfter(mostShownOfSpaced, digits) : maskPhone(digits));
  });
}

/** For readers who may not see numbers: also masks `own` where only its last digits are written, or next to letters. */
export function createNumberMask(own: string): (text: string) => string {
  const digits = own.replace(/\D/g, '').slice(-ownDigits);
  return (text) => {
    const plain = text.replace(/\p{No}/gu, (numeral) => /^\d$/.exec(numeral.normalize('NFKC'))?.[0] ?? numeral);
    const masked = maskNumbers(plain).replace(digitRun, (run) => maskOwn(run, digits));
    return masked === plain ? text : masked;
  };
}

/** Shared by all numbers: building a pattern for each row of an export takes longer than the rest of the row. */
const digitRun = /\p{N}(?:[^\p{L}\p{N}]{0,4}\p{N}){6,}/gu;
const zeros = [0x30, 0x660, 0x6f0, 0xff10];

/** Masks the last four digits wherever the run has `digits`, in any script. */
function maskOwn(run: string, digits: string): string {
  const characters = Array.from(run);
  const places = [...characters.keys()].filter((at) => /\p{N}/u.test(characters[at] ?? ''));
  const plain = places.map((at) => toDigit(characters[at] ?? '')).join('');
  for (let at = plain.indexOf(digits); at >= 0; at = plain.indexOf(digits, at + digits.length))
    for (const place of places.slice(at + digits.length - 4, at + digits.length)) characters[place] = '*';
  return characters.join('');
}

/** `x` for a numeral that is no digit of these scripts. */
function toDigit(character: string): string {
  const code = character.charCodeAt(0);
  const zero = zeros.find((first) => code >= first && code < first + 10);
  return zero === undefined ? 'x' : String(code - zero);
}

/** Masks what its form alone shows to be personal or secret: phone numbers, bearer tokens, UCANs, passwords in URLs. */
export function maskText(text: string): string {
  const numbers = text.replace(phone, (match) => maskPhone(match));
  const maskSpaced = (number: string) => (/\d\D/.test(number) ? maskAfter(mostShownOfSpaced, number) : number);
  const spaced = numbers.includes('+') ? numbers.replace(spacedPhone, maskSpaced) : numbers;
  const known = spaced.replace(bearer, '$1[hidden]');
  const masked = known.includes(ucanStart) ? known.replace(ucan, '[hidden]') : known;
  // Searching for a URL costs more than the rest of the line, and most lines have none.
  return masked.includes('://') ? masked.replace(urlPassword, '$1:[hidden]@') : masked;
}

/** Masks the fields whose name says that they are secret, at any depth of a log line. */
export function maskFields(fields: Record<string, unknown>, depth = 0): Record<string, unknown> {
  const masked: Record<string, unknown> = {};
  for (const name in fields)
    masked[name] = secretNames.test(name) && fields[name] != null ? '[hidden]' : maskValue(fields[name], depth);
  return masked;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => maskValue(item, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (value instanceof Error) return serializeError(value);
  // Requests, dates and the like have serialisers of their own.
  if (prototype !== Object.prototype && prototype !== null) return value;
  return maskFields(value as Record<string, unknown>, depth + 1);
}

/** Characters that move the cursor, reverse the text or cannot be seen: control, format, line and paragraph separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Texts of several lines keep those that join or part letters in words and emoji. */
const unprintableInProse = /(?![\n\t\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON in which no character can hide another from the reader of a terminal. */
export function toPrintableJson(value: unknown): string {
  return escapeAll(JSON.stringify(value) ?? '', unprintable);
}

/** For a text of somebody else, which may have lines and tabs. */
export function toPrintableProse(text: string): string {
  return escapeAll(text, unprintableInProse);
}

/** Escapes values of somebody else: they cannot end the line, style it or hide a part of it. */
export function printable(parts: TemplateStringsArray, ...values: unknown[]): string {
  return String.raw({ raw: parts }, ...values.map((value) => escapeAll(String(value), unprintable)));
}

function escapeAll(text: string, characters: RegExp): string {
  return text.replace(characters, (character) =>
    // By UTF-16 unit, as JSON escapes.
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
