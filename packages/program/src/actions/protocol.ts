import { z } from 'zod';
import { defineAction } from './keyword.ts';
import { checkAddress, reply, replyDraft, replyFields, replyOffers } from './replies.ts';

export const protocol = defineAction({
  about: 'Asks the protocol through the query gateway (GATEWAY_URL) and takes values from its JSON.',
  schema: z.strictObject({
    protocol: z
      .string()
      .regex(/^\/[^/]/, 'must be a path of the query gateway such as /cosmos/bank/v1beta1/supply')
      .meta({ description: 'A path of the query gateway with `{values}`' }),
    ...replyFields,
  }),
  ...reply,
  check: (spec, check) => checkAddress('protocol', spec.protocol, check),
  editor: {
    title: 'Query the protocol',
    draft: { protocol: '/cosmos/bank/v1beta1/supply', ...replyDraft },
    offers: replyOffers,
  },
});
