import { z } from 'zod';
import { agentLimits, pageLimits } from './limits.ts';
import { didPattern, storablePattern } from './patterns.ts';
import { countCodePoints, isTimeZone } from './texts.ts';

/** An object with a name of its own in the OpenAPI documents. */
export function named<Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) {
  return z.object(shape).meta({ id, description });
}

export const timestampSchema = z.iso.datetime().meta({ id: 'Timestamp', description: 'A time in ISO 8601, UTC.' });

export const didSchema = z
  .string()
  .regex(didPattern, { error: 'must be a DID, for example did:key:z6Mk…' })
  .meta({ id: 'Did', description: 'A decentralised identifier.' });

export const timeZoneSchema = z
  .string()
  .refine(isTimeZone, { error: 'must be an IANA time zone name, for example Africa/Nairobi' })
  .meta({ id: 'TimeZone', description: 'An IANA time zone name.', examples: ['Africa/Nairobi'] });

/** A base64 CAR. Only its size is checked here; the verifier checks the content and has its own error codes. */
export const ucanTokenSchema = z
  .string()
  .min(1)
  .max(agentLimits.tokenCharacters)
  .meta({ id: 'UcanToken', description: 'A UCAN invocation or delegation as a base64 CAR archive.' });

export const jsonObjectSchema = z.record(z.string(), z.unknown());

/** Lengths are code points, as in JSON Schema. */
export function boundedText(min: number, max: number) {
  const fits = (text: string) => {
    // A code point is at most two units: a huge value is refused without counting it.
    if (text.length > 2 * max) return false;
    const count = countCodePoints(text);
    return count >= min && count <= max;
  };
  return z
    .string()
    .refine(fits, { error: `must have ${min} to ${max} characters` })
    .regex(storablePattern, { error: 'must not contain the character U+0000' })
    .meta({ minLength: min, maxLength: max });
}

// Query and path schemas have no `id`: OpenAPI writes parameters one by one and cannot refer to a component for them.

const decimalPattern = /^(0|[1-9]\d*)$/;

/** Plain decimal digits only: `Number()` alone would take '', ' 5', '1e2' and '0x10'. Nothing is clamped silently. */
export function decimalInteger(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(
    (value) => (typeof value === 'string' && decimalPattern.test(value) ? Number(value) : value),
    z.int({ error }).min(min, { error }).max(max, { error }),
  );
}

const pageLimitSchema = decimalInteger(pageLimits.min, pageLimits.max)
  .default(pageLimits.default)
  .describe(`How many to return; ${pageLimits.default} when not given.`);

export const offsetPageQuerySchema = z
  .object({
    limit: pageLimitSchema,
    offset: decimalInteger(0, Number.MAX_SAFE_INTEGER).default(0).describe('How many to skip; 0 when not given.'),
  })
  .describe('A page of a list, by position.');

export type OffsetPageQuery = z.infer<typeof offsetPageQuerySchema>;

export const offsetPageFields = { total: z.int().min(0), limit: z.int().min(1), offset: z.int().min(0) };

const cursorSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, { error: 'must be a cursor of an earlier page' })
  .describe('An opaque cursor of an earlier page.');

export const cursorPageQuerySchema = z
  .object({ limit: pageLimitSchema, before: cursorSchema.optional(), after: cursorSchema.optional() })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    error: 'give before or after, not both',
    path: ['after'],
  })
  .describe('A page of a list, by cursor; the newest page when none is given.');

export type CursorPageQuery = z.infer<typeof cursorPageQuerySchema>;

export const modelIdSchema = z.string().min(1).max(200).describe('One of the ids of `GET /models`.');

export const modelListSchema = z
  .object({ models: z.array(z.object({ id: modelIdSchema, name: z.string() })), default: modelIdSchema })
  .meta({ id: 'ModelList', description: 'The language models a message may choose from.' });

export type ModelList = z.infer<typeof modelListSchema>;
