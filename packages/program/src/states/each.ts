import { type CelValue, isCelList } from '@bufbuild/cel';
import { z } from 'zod';
import { expression, nameSchema } from '../actions/keyword.ts';
import { type Dialogue, forget } from '../model/dialogue.ts';
import { evaluate } from '../model/evaluate.ts';
import type { Menu } from '../model/menu.ts';
import { addValues } from '../values/limits.ts';
import { fromExpressionValue } from '../values/value-types.ts';
import { at, type Kind, type Move } from './kind.ts';

const schema = z.strictObject({
  kind: z.literal('each'),
  list: expression({ wanted: 'list' }),
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
  follow: (state, dialogue, menu) => startItem(state, dialogue, { menu, index: 0 }),
  comeBack: (state, dialogue, { menu, index }) => startItem(state, dialogue, { menu, index: index + 1 }),
  summary: (state) => `each ${state.as}`,
  editor: { title: 'Loop', draft: { list: '[]', as: 'item', do: '{to}', to: '{to}' } },
};

function startItem(each: EachState, dialogue: Dialogue, { menu, index }: { menu: Menu; index: number }): Move {
  const list = evaluate(menu, dialogue, each.list);
  const item: CelValue | undefined = isCelList(list) ? [...list][index] : undefined;
  if (item === undefined) return { dialogue: forget(dialogue, [each.as]), to: each.to };
  const values = addValues(dialogue.values, { [each.as]: fromExpressionValue(item) });
  const { state, stack, frames = [] } = dialogue;
  return { dialogue: { ...dialogue, values, frames: [...frames, { state, depth: stack.length, index }] }, to: each.do };
}
