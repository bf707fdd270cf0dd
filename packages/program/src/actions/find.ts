import { z } from 'zod';
import { defineAction, nameSchema } from './keyword.ts';
import { checkRecord, kindSchema, ownerSchema, whereSchema } from './records.ts';

export const find = defineAction({
  about: "Reads records into a list, newest first: the caller's own, or everyone's with `of: everyone`.",
  schema: z.strictObject({
    find: kindSchema,
    of: ownerSchema,
    where: whereSchema.exactOptional(),
    save: nameSchema.meta({ description: 'The name of the list' }),
    limit: z.int().min(1).max(200).default(50).meta({ description: 'How many at most, 50 by default and 200 at most' }),
    more: nameSchema
      .exactOptional()
      .meta({ description: 'The name of a value that is true where there are more records than the list holds' }),
  }),
  outcomes: { found: 'there is at least one', none: 'there is none' },
  finishes: false,
  signature: ({ save, more }) => ({ values: { [save]: 'list', ...(more !== undefined && { [more]: 'boolean' }) } }),
  check: ({ find: kind }, check) => checkRecord({ keyword: 'find', kind }, check),
  editor: {
    title: 'Find records',
    draft: { find: '{record}', save: '{name}Rows', outcomes: { found: '{to}', none: '{to}' } },
    offers: { of: 'caller', where: '', limit: '', more: '' },
  },
});
