import { z } from 'zod';

/**
 * A whole number in decimal digits.
 *
 * @example
 * ```ts
 * import { envInteger } from '@palaver/service-kit';
 *
 * export const size = envInteger({ min: 1, max: 500 }).prefault('20').meta({ description: 'Goats per page.' });
 * ```
 */
export function envInteger(range: { min: number; max: number }) {
  const expected = `expected a whole number from ${range.min} to ${range.max}`;
  return z
    .string()
    .regex(/^\d+$/, expected)
    .transform(Number)
    .refine((value) => value >= range.min && value <= range.max, expected);
}

/**
 * `true` or `false` (also 1/0, yes/no, on/off).
 *
 * @example
 * ```ts
 * import { envBoolean } from '@palaver/service-kit';
 *
 * export const open = envBoolean().prefault('true').meta({ description: 'Whether the gate is open.' });
 * ```
 */
export function envBoolean() {
  return z.stringbool({ error: 'expected true or false' });
}

export function isTrue(text: string | undefined): boolean {
  return envBoolean().safeParse(text?.trim()).data === true;
}

/**
 * Values separated by commas; blanks around them and empty ones are dropped.
 *
 * @example
 * ```ts
 * import { envList } from '@palaver/service-kit';
 *
 * export const barns = envList().prefault('').meta({ description: 'Names of the barns.', example: 'north,south' });
 * ```
 */
export function envList() {
  return z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );
}

/**
 * An absolute URL with one of the given schemes (`http:`); a trailing slash is dropped.
 *
 * @example
 * ```ts
 * import { envUrl } from '@palaver/service-kit';
 *
 * export const url = envUrl('http:', 'https:').optional().meta({ description: 'The market.', example: 'https://market.example' });
 * ```
 */
export function envUrl(...protocols: string[]) {
  // A file is named by a path, `file:./data/x.sqlite`; everything else has a host.
  const starts = protocols.map((protocol) => (protocol === 'file:' ? protocol : `${protocol}//`));
  const expected = `expected a URL starting with ${starts.join(' or ')}`;
  return z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), expected)
    .transform((text) => text.replace(/\/+$/, ''));
}

/** `file:…` or `postgres://…`, which may have several PostgreSQL hosts, separated by commas. */
export function envDatabaseUrl() {
  const moreHosts = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?[^,/?#]+)(?:,[^,/?#]+)+/;
  const url = envUrl('file:', 'postgres:', 'postgresql:');
  return z.string().superRefine((text, context) => {
    for (const issue of url.safeParse(text.replace(moreHosts, '$1')).error?.issues ?? [])
      context.addIssue({ code: 'custom', message: issue.message });
  });
}

/** 32 bytes as 64 hex digits or base64; `undefined` when it is neither. */
export function parseKeyBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return undefined;
}

export function envKeys() {
  return envList().transform((texts, context) =>
    texts.flatMap((text) => {
      const key = parseKeyBytes(text);
      if (!key) context.addIssue({ code: 'custom', message: 'expected keys of 32 bytes as 64 hex digits or base64' });
      return key ?? [];
    }),
  );
}
