import { z } from 'zod';
import { defineAction } from './keyword.ts';
import { checkRecord, kindSchema, totalsFields, totalValues } from './records.ts';

export const total = defineAction({
  about:
    "Computes over all records of a kind, however many there are: the caller's own, or everyone's with `of: everyone`.",
  schema: z.strictObject({ total: kindSchema, ...totalsFields }),
  outcomes: { found: 'at least one record counts', none: 'no record counts: counts and sums are 0' },
  finishes: false,
  signature: (totals) => ({ values: totalValues(totals) }),
  check: ({ total: kind, save }, check) => checkRecord({ keyword: 'total', kind, save }, check),
  editor: {
    title: 'Add up records',
    draft: { total: '{record}', save: { '{name}Count': 'count()' }, outcomes: { found: '{to}', none: '{to}' } },
    offers: { of: 'caller', where: '' },
  },
});
