// Values as JSON text, letter by letter as Go's encoding/json and gogoproto's jsonpb write them.
import { isUtf8 } from 'node:buffer';
import { pieceBytes } from './pieces.ts';
import { untilEnd, WireError, type WireReader } from './wire-reader.ts';

// 1 where a byte needs more than copying: controls, quotes, what Go escapes for HTML, everything outside ASCII.
const special = new Uint8Array(256).fill(1, 0, 0x20).fill(1, 0x80);
for (const character of '"\\<>&') special[character.charCodeAt(0)] = 1;

const escapes: Record<string, string> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

export function quoteSpan(reader: WireReader, start: number, end: number): string {
  const { bytes, pieces } = reader;
  if (pieces && end - start > pieceBytes)
    return `"${reader.between(start, end, () => pieces.defer(reader, untilEnd(quotePiece)))}"`;
  for (let at = start; at < end; at += 1) {
    if (special[bytes[at] as number] === 1) return `"${escapeBytes(bytes.subarray(start, end))}"`;
  }
  return `"${reader.text.slice(start, end)}"`;
}

export function quoteText(text: string): string {
  const json = JSON.stringify(text);
  if (!/[<>&\u2028\u2029]/.test(json)) return json;
  let escaped = json;
  for (const character in escapes) escaped = escaped.replaceAll(character, escapes[character] as string);
  return escaped;
}

function quotePiece(reader: WireReader): string {
  const { bytes, pos, end } = reader;
  let until = Math.min(end, pos + pieceBytes);
  // A piece ends before a character, which has up to three bytes after its first.
  if (until < end) {
    let at = until;
    while (at > until - 4 && isContinuation(bytes[at])) at -= 1;
    if (!isContinuation(bytes[at])) until = at;
  }
  reader.pos = until;
  return escapeBytes(bytes.subarray(pos, until));
}

function escapeBytes(bytes: Buffer): string {
  return isUtf8(bytes) ? quoteText(bytes.toString('utf8')).slice(1, -1) : repair(bytes);
}

/** Text that is not UTF-8: Go writes one escaped replacement character for each byte that does not belong. */
function repair(bytes: Buffer): string {
  let json = '';
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes, at);
    if (size === 0) {
      if (start < at) json += quoteText(bytes.toString('utf8', start, at)).slice(1, -1);
      json += '\\ufffd';
      start = at + 1;
    }
    at += size || 1;
  }
  return json + quoteText(bytes.toString('utf8', start)).slice(1, -1);
}

function sizeOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  if (first < 0x80) return 1;
  const size = first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return size > 0 && isUtf8(bytes.subarray(at, at + size)) ? size : 0;
}

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

const jsonToken = /"(?:[^"\\]|\\.)*"|[^\s"]+|\s+/gs;

/** JSON text without its white space and with Go's escapes; digits, escapes and repeated keys are kept. */
export function compactJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    throw new WireError('not JSON');
  }
  return text
    .replace(jsonToken, (token) => (/^\s/.test(token) ? '' : token))
    .replace(/[<>&\u2028\u2029]/g, (character) => escapes[character] as string);
}

export function toInt64(lo: number, hi: number): string {
  if (hi === 0) return String(lo);
  const high = hi | 0;
  // Within 2^53 a plain number is exact, and several times cheaper than a bigint.
  if (high > -0x200000 && high < 0x200000) return String(high * 0x100000000 + lo);
  return String((BigInt(high) << 32n) | BigInt(lo));
}

export function toUint64(lo: number, hi: number): string {
  if (hi < 0x200000) return String(hi * 0x100000000 + lo);
  return String((BigInt(hi) << 32n) | BigInt(lo));
}

export function toDouble(value: number): string {
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value);
  return `"${value}"`;
}

/** The shortest digits that give the same 32-bit float again. */
export function toFloat(value: number): string {
  if (!Number.isFinite(value) || value === 0) return toDouble(value);
  for (let digits = 1; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
    // Just above a power of two the gap below is half the gap above: the shortest may be the next one up.
    const step = 10 ** (Math.floor(Math.log10(Math.abs(short))) - digits + 1);
    const next = Number((short + Math.sign(short) * step).toPrecision(digits));
    if (Math.fround(next) === value) return String(next);
  }
  return String(Number(value.toPrecision(9)));
}

const billion = 1_000_000_000;

/** RFC 3339 with 0, 3, 6 or 9 digits of a second. `strict` is the range of Go's `time.Time` conversions, years 1 to 9999. */
export function toTimestamp(seconds: number, nanos: number, strict: boolean): string {
  if (nanos < 0 || nanos >= billion) throw new WireError('timestamp: nanos out of range');
  if (strict && (seconds < -62_135_596_800 || seconds > 253_402_300_799)) throw new WireError('timestamp out of range');
  const day = Math.floor(seconds / daySeconds);
  const rest = seconds - day * daySeconds;
  const time = `${pairs[(rest / 3600) | 0]}:${pairs[((rest / 60) | 0) % 60]}:${pairs[rest % 60]}`;
  return `"${toDate(day)}T${time}${toFraction(nanos)}Z"`;
}

const daySeconds = 86_400;
const pairs = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const maxDates = 1_000;
const dates = new Map<number, string>();

/** The date of a day since 1970. The same days come again and again, and `Date` is slow, so some are remembered. */
function toDate(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const date = new Date(day * daySeconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('timestamp out of range');
  // Years outside 0..9999 have a sign and six digits in ISO text; Go writes at least four, and no plus.
  const whole = date.toISOString().replace(/^([+-])0{0,2}/, (_match, sign: string) => (sign === '-' ? '-' : ''));
  const text = whole.slice(0, whole.indexOf('T'));
  if (dates.size >= maxDates) dates.clear();
  dates.set(day, text);
  return text;
}

/** `strict` is the range of Go's `time.Duration`, 292 years. */
export function toDuration(seconds: number, nanos: number, strict: boolean): string {
  if (Math.abs(seconds) > (strict ? 9_223_372_036 : 315_576_000_000))
    throw new WireError('duration: seconds out of range');
  if (Math.abs(nanos) >= billion) throw new WireError('duration: nanos out of range');
  if (seconds * nanos < 0) throw new WireError('duration: signs do not match');
  const sign = seconds < 0 || nanos < 0 ? '-' : '';
  return `"${sign}${Math.abs(seconds)}${toFraction(Math.abs(nanos))}s"`;
}

function toFraction(nanos: number): string {
  if (nanos === 0) return '';
  if (nanos % 1_000_000 === 0) return `.${String(nanos / 1_000_000).padStart(3, '0')}`;
  if (nanos % 1_000 === 0) return `.${String(nanos / 1_000).padStart(6, '0')}`;
  return `.${String(nanos).padStart(9, '0')}`;
}
