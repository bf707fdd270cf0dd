import { z } from 'zod';
import { expressionSchema, nameSchema } from '../actions/keyword.ts';
import { computeText } from '../model/evaluate.ts';
import { addValues } from '../values/limits.ts';
import { at, type Kind } from './kind.ts';

const schema = z.strictObject({
  kind: z.literal('set'),
  values: z.record(nameSchema, expressionSchema),
  to: nameSchema,
});

export const set: Kind<z.infer<typeof schema>> = {
  shows: 'nothing',
  leadsTo: '`to`, with computed values',
  schema,
  targets: ({ to }) => [at('to', to)],
  gives: ({ values }) => Object.keys(values).map((name) => [name, 'computed']),
  follow({ values, to }, dialogue, menu) {
    let changed = dialogue;
    for (const [name, source] of Object.entries(values))
      changed = { ...changed, values: addValues(changed.values, { [name]: computeText(menu, changed, source) }) };
    return { dialogue: changed, to };
  },
  summary: ({ values }) => Object.keys(values).join(', '),
  editor: { title: 'Values', draft: { values: {}, to: '{to}' } },
};
