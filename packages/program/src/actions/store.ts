import { z } from 'zod';
import { defineAction, fieldsSchema } from './keyword.ts';
import { checkRecord, checkSchema, kindSchema, refused, writeSignature } from './records.ts';

export const store = defineAction({
  about:
    'Keeps a record of a kind that `records` of program.yaml declares, once each time a caller reaches this state.',
  schema: z.strictObject({ store: kindSchema, fields: fieldsSchema, check: checkSchema.exactOptional() }),
  outcomes: { stored: 'the record is kept', refused },
  finishes: true,
  signature: ({ check }) => writeSignature(['stored'], check),
  check: ({ store: kind, ...spec }, check) => checkRecord({ keyword: 'store', kind, ...spec }, check),
  editor: {
    title: 'Store a record',
    draft: { store: '{record}', fields: {}, outcomes: { stored: '{to}' } },
    offers: { check: { save: {}, that: '' } },
  },
});
