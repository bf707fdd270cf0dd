import { z } from 'zod';
import { placeholdersOf } from '../model/locales.ts';
import type { ActionSignature } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { type Check, expression, nameSchema } from './keyword.ts';

const pathSchema = z.string().regex(/^\$(?:\.\w+|\[\d+\])*$/, 'must be a path such as $.latest.price');

export const replyFields = {
  take: z
    .record(nameSchema, pathSchema)
    .default({})
    .meta({ description: 'A path such as `$.latest.price` for each value' }),
  when: z
    .array(z.strictObject({ that: expression({ wanted: 'bool', sees: 'status' }), outcome: nameSchema }))
    .max(20)
    .default([])
    .meta({ description: 'Outcomes by expressions over the values taken and `status`; the first that holds' }),
};

type Reply = z.infer<z.ZodObject<typeof replyFields>>;

const outcomes = {
  ok: 'status 200 to 299, with JSON where `take` reads from it',
  missing: 'status 404',
  failed: 'any other status, no answer in time, or an address that is not allowed',
};

export const reply = {
  outcomes,
  finishes: false,
  signature({ take, when }: Reply): Partial<ActionSignature> {
    const named = [...Object.keys(outcomes), ...when.map(({ outcome }) => outcome)];
    const values = Object.fromEntries(Object.keys(take).map((name) => [name, 'any' as const]));
    return { outcomes: [...new Set(named)], values };
  },
};

export const replyDraft = { take: {}, outcomes: { ok: '{to}', missing: '{to}', failed: '{to}' } };
export const replyOffers = { take: {}, when: [] };

export function checkAddress(keyword: string, address: string, { types, isOpen, say }: Check): void {
  for (const placeholder of placeholdersOf(address))
    if (!isOpen && !types.has(placeholder))
      say([keyword], `there is no value {${placeholder}}${suggest(placeholder, types.keys())}`);
}
