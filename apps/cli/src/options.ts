import { InvalidArgumentError } from 'commander';

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** A duration as people write it: `900`, `30m`, `12h`, `30d`. */
export function toSeconds(text: string): number {
  const [, digits, unit = 's'] = /^([1-9]\d{0,9})([smhd])?$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidArgumentError('expected seconds, or a number with m, h or d, such as 30d');
  return Number(digits) * (unitSeconds[unit] ?? 1);
}

/** `localhost:3000` would be a URL too, of the scheme `localhost`. */
export function toServerUrl(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new InvalidArgumentError('expected an address such as http://127.0.0.1:4000');
  return text;
}

export function toCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}
