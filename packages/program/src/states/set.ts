import { z } from 'zod';
import { expressionSchema, fieldExpressions, nameSchema } from '../actions/keyword.ts';
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
  expressions: ({ values }) => fieldExpressions(values, ['values']),
  follow(state, dialogue, { menu, arrive }) {
    let changed = dialogue;
    for (const [name, source] of Object.entries(state.values))
      changed = { ...changed, values: addValues(changed.values, { [name]: computeText(menu, changed, source) }) };
    return arrive(changed, state.to);
  },
  summary: ({ values }) => Object.keys(values).join(', '),
  outline: ['{', '}'],
  editor: { title: 'Values', draft: { values: {}, to: '{to}' } },
};
