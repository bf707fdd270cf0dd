import { z } from 'zod';
import { defineAction, fieldsSchema } from './keyword.ts';
import { checkRecord, checkSchema, kindSchema, refused, whereSchema, writeSignature } from './records.ts';

export const update = defineAction({
  about: 'Changes the records of the caller for which `where` holds.',
  schema: z.strictObject({
    update: kindSchema,
    where: whereSchema,
    fields: fieldsSchema,
    check: checkSchema.exactOptional(),
  }),
  outcomes: { updated: 'at least one was changed', none: 'there is none', refused },
  finishes: true,
  signature: ({ check }) => writeSignature(['updated', 'none'], check),
  check: ({ update: kind, ...spec }, check) => checkRecord({ keyword: 'update', kind, ...spec }, check),
  editor: {
    title: 'Change records',
    draft: { update: '{record}', where: 'true', fields: {}, outcomes: { updated: '{to}', none: '{to}' } },
  },
});
