import { z } from 'zod';
import type { ActionSignature } from '../model/menu.ts';
import { expressionSchema, nameSchema, type UsedExpression } from './keyword.ts';

const pathSchema = z.string().regex(/^\$(?:\.\w+|\[\d+\])*$/, 'must be a path such as $.latest.price');

export const replyFields = {
  take: z
    .record(nameSchema, pathSchema)
    .default({})
    .meta({ description: 'A path such as `$.latest.price` for each value' }),
  when: z
    .array(z.strictObject({ that: expressionSchema, outcome: nameSchema }))
    .max(20)
    .default([])
    .meta({ description: 'Outcomes by expressions over the values taken and `status`; the first that holds' }),
};

export const replyOutcomes = {
  ok: 'status 200 to 299, with JSON where `take` reads from it',
  missing: 'status 404',
  failed: 'any other status, no answer in time, or an address that is not allowed',
};

export const replyDraft = { take: {}, outcomes: { ok: '{to}', missing: '{to}', failed: '{to}' } };
export const replyOffers = { take: {}, when: [] };

type Reply = z.infer<z.ZodObject<typeof replyFields>>;

export function replySignature({ take, when }: Reply): Partial<ActionSignature> {
  const outcomes = [...Object.keys(replyOutcomes), ...when.map(({ outcome }) => outcome)];
  const values = Object.fromEntries(Object.keys(take).map((name) => [name, 'any' as const]));
  return { outcomes: [...new Set(outcomes)], values };
}

export function replyExpressions({ when }: Reply): UsedExpression[] {
  return when.map(({ that }, i) => ({ source: that, path: ['when', i, 'that'], hasStatus: true, wanted: 'bool' }));
}
