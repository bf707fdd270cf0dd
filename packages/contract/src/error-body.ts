import { z } from 'zod';

const errorFields = { statusCode: z.int(), error: z.string(), message: z.string(), code: z.string() };

/**
 * The body of every error reply.
 *
 * @example
 * ```ts
 * import { errorBodySchema } from '@palaver/contract';
 *
 * export const codeOf = async (reply: Response) => errorBodySchema.parse(await reply.json()).code;
 * ```
 */
export const errorBodySchema = z
  .looseObject(errorFields)
  .meta({ id: 'Error', description: 'Every error of every service; some errors have further fields.' });

/**
 * The body of every error reply.
 *
 * @example
 * ```ts
 * import type { ErrorBody } from '@palaver/contract';
 *
 * export const toLine = ({ code, message }: ErrorBody) => `${code}: ${message}`;
 * ```
 */
export type ErrorBody = z.infer<typeof errorBodySchema>;

const validationIssueSchema = z.object({
  path: z.string().meta({ description: 'The field, dotted: `attachments.0.filename`.' }),
  message: z.string(),
});

export type ValidationIssue = z.infer<typeof validationIssueSchema>;

export const validationErrorBodySchema = z
  .looseObject({ ...errorFields, code: z.literal('VALIDATION_FAILED'), issues: z.array(validationIssueSchema) })
  .meta({ id: 'ValidationError', description: 'A body, query or path that does not fit its schema (400).' });

const claimIdsSchema = z.array(z.string());

export const paymentRequiredBodySchema = z
  .looseObject({
    ...errorFields,
    code: z.literal('PAYMENT_REQUIRED'),
    claimIds: claimIdsSchema,
    claims: claimIdsSchema.meta({ description: 'The same as claimIds, for existing clients.' }),
    outstandingClaims: claimIdsSchema.meta({ description: 'The same as claimIds, for existing clients.' }),
  })
  .meta({ id: 'PaymentRequiredError', description: 'The agent asks for payment before it answers (402).' });
