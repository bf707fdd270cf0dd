import { z } from 'zod';
import { defineAction, fieldsSchema, nameSchema, plainText } from './keyword.ts';

/** How many claims one phone number can file through programs in 24 hours; its reports count too. */
export const claimsPerDay = 50;
const reservedFields = ['source', 'collection', 'filedAt'];
/** Uses of `caller` that may put a phone number into a claim: all but the language and whether they have logged in. */
const callerPattern = /\bcaller\b(?!\.(?:language|authenticated)\b)/;

export const claim = defineAction({
  about:
    'Files a claim on the protocol, once each time a caller reaches this state: in CLAIMS_COLLECTION, or in the collection that it names. Its fields hold no phone number.',
  schema: z.strictObject({
    claim: nameSchema.meta({ description: 'What it is a claim about, such as `planting`' }),
    collection: plainText(/^[\w-]{1,64}$/, 'must be the id of a collection')
      .exactOptional()
      .meta({ description: 'The id of a collection other than CLAIMS_COLLECTION' }),
    fields: fieldsSchema,
    save: nameSchema.default('reference').meta({ description: 'The name of its reference' }),
  }),
  outcomes: {
    filed: 'the claim is stored and will be submitted',
    refused: `a field holds a phone number, or the caller has filed ${claimsPerDay} claims in 24 hours`,
    unavailable: 'CLAIMS_COLLECTION is not set',
  },
  finishes: true,
  signature: ({ save }) => ({ values: { [save]: 'text' } }),
  check({ fields }, { expressions, types, say }) {
    for (const [field, source] of Object.entries(fields)) {
      const names = expressions.get(source)?.names ?? [];
      if (reservedFields.includes(field))
        say(['fields', field], `\`${field}\` is reserved: the service adds it to every claim`);
      const namesCaller = names.includes('caller') && callerPattern.test(source);
      if (namesCaller || names.some((value) => types.get(value) === 'phone'))
        say(['fields', field], 'a claim holds no phone number: leave this field out');
    }
  },
  editor: {
    title: 'File a claim',
    draft: { claim: '{name}', fields: {}, outcomes: { filed: '{to}', refused: '{to}', unavailable: '{to}' } },
    offers: { collection: '' },
  },
});
