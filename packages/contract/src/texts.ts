import { requestIdMaxCharacters } from './limits.ts';

/** Characters as the contract counts them: an emoji is one, not the two of `text.length`. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The extras of a `PAYMENT_REQUIRED` error; existing clients read the claim ids under either of the older names. */
export function toPaymentDetails(claimIds: readonly string[]) {
  return { claimIds, claims: claimIds, outstandingClaims: claimIds };
}

/** Begins the ids of what the console looks up for its reader, which operators do not need among the recent errors. */
export const lookUpPrefix = 'look-up-';

const requestIdPattern = /^[\x20-\x7e]+$/;

export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= requestIdMaxCharacters && requestIdPattern.test(value);
}

const tags =
  'af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu ha he hi hr hu hy id ig is it ja ka kk km kn ko ky lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt rn ro ru rw si sk sl sn so sq sr st sv sw ta te tg th ti tk tl tn tr ts uk ur uz vi wo xh yo zh zu'.split(
    ' ',
  );

let names: Map<string, string> | undefined;

export function findLanguageTag(name: string): string | undefined {
  names ??= new Map(
    tags.flatMap((tag) => ['en', 'fr', 'sw', tag].map((locale): [string, string] => [nameOf(tag, locale), tag])),
  );
  return names.get(name.trim().toLowerCase());
}

function nameOf(tag: string, locale: string): string {
  return (new Intl.DisplayNames([locale], { type: 'language' }).of(tag) ?? tag).toLowerCase();
}

// Intl also takes primary subtags of five to eight letters, which BCP 47 only reserves: "French" would be a language.
const languageTagPattern = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/;
const languageTagMaxCharacters = 35;

/** The canonical form of a BCP 47 language tag (`pt-br` → `pt-BR`), or `undefined` if it is not one. */
export function toLanguageTag(text: string): string | undefined {
  if (text.length > languageTagMaxCharacters || !languageTagPattern.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}

// Node and browsers also take offsets such as "+02:00" for a time zone; the contract takes names alone.
const zoneNamePattern = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;
const zoneNameMaxCharacters = 64;

export function isTimeZone(name: string): boolean {
  if (name.length > zoneNameMaxCharacters || !zoneNamePattern.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The two error replies of `POST /api/ussd`, word for word as the specification gives them. */
export const ussdReplies = {
  invalidInput: 'END Invalid input. Please try again.',
  unavailable: 'END Service temporarily unavailable. Please try again later.',
} as const;
