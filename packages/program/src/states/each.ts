import { type CelValue, isCelList } from '@bufbuild/cel';
import { z } from 'zod';
import { expressionSchema, nameSchema } from '../actions/keyword.ts';
import { type Dialogue, forget, type Step } from '../model/dialogue.ts';
import { evaluate } from '../model/evaluate.ts';
import { addValues } from '../values/limits.ts';
import { fromExpressionValue } from '../values/value-types.ts';
import { at, type Course, type Kind } from './kind.ts';

const schema = z.strictObject({
  kind: z.literal('each'),
  list: expressionSchema,
  as: nameSchema,
  do: nameSchema,
  to: nameSchema,
});
type EachState = z.infer<typeof schema>;

export const each: Kind<EachState> = {
  shows: 'nothing',
  leadsTo: '`do` for each item of a list, then `to`',
  schema,
  targets: (state) => [at('do', state.do), at('to', state.to)],
  gives: (state) => [[state.as, 'any']],
  expressions: ({ list }) => [{ source: list, path: ['list'], wanted: 'list' }],
  follow: (state, dialogue, course) => startItem(state, dialogue, { ...course, index: 0 }),
  comeBack: (state, dialogue, course) => startItem(state, dialogue, { ...course, index: course.index + 1 }),
  summary: (state) => `each ${state.as}`,
  outline: ['{', '}'],
  editor: { title: 'Loop', draft: { list: '[]', as: 'item', do: '{to}', to: '{to}' } },
};

function startItem(each: EachState, dialogue: Dialogue, { menu, index, arrive }: Course & { index: number }): Step {
  const list = evaluate(menu, dialogue, each.list);
  const item: CelValue | undefined = isCelList(list) ? [...list][index] : undefined;
  if (item === undefined) return arrive(forget(dialogue, [each.as]), each.to);
  const values = addValues(dialogue.values, { [each.as]: fromExpressionValue(item) });
  const { state, stack, frames = [] } = dialogue;
  return arrive({ ...dialogue, values, frames: [...frames, { state, depth: stack.length, index }] }, each.do);
}
