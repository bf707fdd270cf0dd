// Every pattern of the wire interface, once; free of zod. None backtracks, so a hostile value costs linear time.

import { ussdLimits } from './limits.ts';

/**
 * E.164.
 *
 * @example
 * ```ts
 * import { phoneNumberPattern } from '@palaver/contract';
 *
 * console.log(phoneNumberPattern.test('+254700000001'));
 * ```
 */
export const phoneNumberPattern = /^\+[1-9]\d{6,14}$/;

export const serviceCodePattern = /^\*\d+(\*\d+)*#$/;

export const defaultServiceCode = '*1234#';

export const visibleAsciiPattern = /^[\x21-\x7e]+$/;

// Without `\p`, which regular expressions of other languages do not have: the pattern is in the OpenAPI documents.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it refuses.
export const noControlCharactersPattern = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** PostgreSQL stores no text with U+0000. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what it refuses.
export const storablePattern = /^[^\u0000]*$/;

export const pinPattern = new RegExp(`^\\d{${ussdLimits.pinMinDigits},${ussdLimits.pinMaxDigits}}$`);

/** Ids of agent sessions and runs (UUID v7). An id of another form is simply unknown: 404, not 400. */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A UUID v4: an id that a client chooses is never one that the service makes. */
export const clientIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export const messageIdPattern = new RegExp(`${uuidPattern.source}|${clientIdPattern.source}`);

/**
 * A decentralised identifier.
 *
 * @example
 * ```ts
 * import { didPattern } from '@palaver/contract';
 *
 * console.log(didPattern.test('did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'));
 * ```
 */
export const didPattern = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,500}$/;

export const cidPattern = /^b[a-z2-7]{20,120}$/;

/** What every model provider accepts as a tool name. */
export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;

export const mxcUriPattern = /^mxc:\/\/[A-Za-z0-9.:[\]-]{1,255}\/[A-Za-z0-9_-]{1,255}$/;

export const matrixEventIdPattern = /^\$[\x21-\x7e]{1,254}$/;

/** With parameters such as `;charset=utf-8`; empty where the client does not know it. */
export const mimeTypePattern =
  /^(?:[A-Za-z0-9][\w!#$&^.+-]{0,126}\/[A-Za-z0-9][\w!#$&^.+-]{0,126}(?: ?;[\x20-\x7e]{0,200})?)?$/;

export const sha256Pattern = /^[0-9a-f]{64}$/i;
