import { z } from 'zod';

const errorFields = { statusCode: z.int(), error: z.string(), message: z.string(), code: z.string() };

export const errorBodySchema = z
  .looseObject(errorFields)
  .meta({ id: 'Error', description: 'Every error of every service; named extras stand beside these four fields.' });

export type ErrorBody = z.infer<typeof errorBodySchema>;

const validationIssueSchema = z.object({
  path: z.string().meta({ description: 'The field, dotted: `attachments.0.filename`.' }),
  message: z.string(),
});

export type ValidationIssue = z.infer<typeof validationIssueSchema>;

export const validationErrorBodySchema = z
  .looseObject({ ...errorFields, code: z.literal('VALIDATION_FAILED'), issues: z.array(validationIssueSchema) })
  .meta({ id: 'ValidationError', description: 'A body, query or path that does not fit its schema (400).' });

export type ValidationErrorBody = z.infer<typeof validationErrorBodySchema>;

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

export type PaymentRequiredBody = z.infer<typeof paymentRequiredBodySchema>;
