import { z } from 'zod';
import { pageLimits } from './limits.ts';

// Query and path schemas have no `id`: OpenAPI writes parameters one by one and cannot refer to a component for them.

const decimalPattern = /^(0|[1-9]\d*)$/;

/**
 * An integer in a query string or header: plain decimal digits only. `Number()` alone would take '', ' 5', '1e2' and
 * '0x10'; here they are errors, and so is a value out of range: nothing is clamped silently.
 */
export function decimalInteger(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(
    (value) => (typeof value === 'string' && decimalPattern.test(value) ? Number(value) : value),
    z.int({ error }).min(min, { error }).max(max, { error }),
  );
}

export const pageLimitSchema = decimalInteger(pageLimits.min, pageLimits.max)
  .default(pageLimits.default)
  .meta({ description: `How many to return; ${pageLimits.default} when not given.` });

export const offsetPageQuerySchema = z
  .object({
    limit: pageLimitSchema,
    offset: decimalInteger(0, Number.MAX_SAFE_INTEGER)
      .default(0)
      .meta({ description: 'How many to skip; 0 when not given.' }),
  })
  .meta({ description: 'A page of a list, by position.' });

export type OffsetPageQuery = z.infer<typeof offsetPageQuerySchema>;

/** The three counts beside the items of a page by position. */
export const offsetPageFields = { total: z.int().min(0), limit: z.int().min(1), offset: z.int().min(0) };

const cursorSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, { error: 'must be a cursor of an earlier page' })
  .meta({ description: 'An opaque cursor of an earlier page.' });

export const cursorPageQuerySchema = z
  .object({ limit: pageLimitSchema, before: cursorSchema.optional(), after: cursorSchema.optional() })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    error: 'give before or after, not both',
    path: ['after'],
  })
  .meta({ description: 'A page of a list, by cursor; the newest page when none is given.' });

export type CursorPageQuery = z.infer<typeof cursorPageQuerySchema>;
