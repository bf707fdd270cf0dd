import { z } from 'zod';
import { conditionSchema, nameSchema } from '../actions/keyword.ts';
import { holds } from '../model/evaluate.ts';
import { at, type Kind } from './kind.ts';

const schema = z.strictObject({
  kind: z.literal('branch'),
  when: z
    .array(z.strictObject({ that: conditionSchema, to: nameSchema }))
    .min(1)
    .max(40),
  else: nameSchema,
});

export const branch: Kind<z.infer<typeof schema>> = {
  shows: 'nothing',
  leadsTo: 'the first of its `when` that holds, or `else`',
  schema,
  targets: (state) => [
    ...state.when.map(({ that, to }, i) => ({ to, label: that, path: ['when', i, 'to'] })),
    at('else', state.else),
  ],
  follow: (state, dialogue, menu) => ({
    dialogue,
    to: state.when.find(({ that }) => holds(menu, dialogue, that))?.to ?? state.else,
  }),
  editor: { title: 'Branch', draft: { when: [{ that: 'true', to: '{to}' }], else: '{to}' } },
};
