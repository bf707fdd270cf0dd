import { z } from 'zod';
import { conditionSchema, nameSchema } from '../actions/keyword.ts';
import { type Dialogue, type Step, stay } from '../model/dialogue.ts';
import type { Menu, Option } from '../model/menu.ts';
import { cellsOf, checkList, columnsOf, fromSchema, givenByRows, isSearchable, toListOptions } from './from.ts';
import { at, type Kind, type Press, refuse, screen } from './kind.ts';
import { chooseOption, optionsSchema, page } from './page.ts';

const schema = z
  .strictObject({
    kind: z.literal('menu'),
    ...screen,
    options: optionsSchema,
    from: fromSchema.exactOptional(),
    when: conditionSchema.exactOptional(),
    to: nameSchema.exactOptional(),
  })
  .superRefine(({ from, to, options, when }, context) => {
    const isList = from !== undefined;
    if (isList !== (to !== undefined)) refuse(context, 'to', '`from` and `to` belong together: give both or neither');
    if (isList === options.length > 0) refuse(context, 'options', 'a menu needs either `options` or `from`');
    if (when !== undefined && !isList)
      refuse(context, 'when', '`when` is for a menu with `from`; lead past other menus with a `branch`');
  });
export type MenuState = z.infer<typeof schema>;

export const menu: Kind<MenuState> = {
  shows: 'a text and numbered options',
  leadsTo: 'the option chosen; `set: { x: y }` saves an answer',
  schema,
  targets: (state) => (state.to === undefined ? page.targets(state) : [at('to', state.to)]),
  gives: (state, declared) => [...(state.from ? givenByRows(state.from, declared) : []), ...page.gives(state)],
  rowFields: ({ from }, declared) => (from && columnsOf(from, declared)) ?? [],
  texts: ({ from }) => (from ? ['common.search', 'hint.noMatch'].map((key) => ({ key, path: ['from'] })) : []),
  check(state, check) {
    page.check(state, check);
    if (state.from) checkList(state.from, check);
  },
  longest(state, name, seen) {
    const { from } = state;
    if (!from || !Object.hasOwn(from.save, name)) return page.longest(state, name, seen);
    const cells = (field: string) => cellsOf(seen.menu, from, field, seen.language);
    return { values: cells(from.save[name] ?? ''), labels: cells(from.text) };
  },
  isQuestion: ({ from, options }) => from !== undefined || options.some(({ set }) => set),
  options: optionsOf,
  content(state, { menu, dialogue, say }) {
    const isLong = state.from && isSearchable(menu, state.from, dialogue);
    return { body: isLong ? `${say(state.text)}\n${say('common.search')}` : say(state.text) };
  },
  press(state, dialogue, press) {
    const { menu, input } = press;
    const step = press.navigate(dialogue) ?? chooseOption(dialogue, press);
    if (step) return step;
    const isSearch = state.from && /\D/.test(input.value) && isSearchable(menu, state.from, dialogue);
    return isSearch ? search(dialogue, press) : stay(dialogue, 'hint.choice');
  },
  outline: ['[', ']'],
  editor: {
    title: 'Menu',
    draft: { text: '{name}.text', options: [{ text: '{name}.option1', to: '{to}' }] },
    texts: { '{name}.text': '{text}', '{name}.option1': '{label}' },
  },
};

function optionsOf(state: MenuState, menu: Menu, dialogue: Dialogue): Option[] {
  const { from, to = '' } = state;
  return from ? toListOptions(menu, dialogue, { from, to }) : page.options(state, menu, dialogue);
}

/** Filters a long list by what was typed; if no row matches, shows a hint and the whole list. */
function search({ search: _, hint: __, hintPage: ___, ...dialogue }: Dialogue, { input, options }: Press): Step {
  const found = { ...dialogue, page: 0, search: input.value };
  if (options(found).length > 0) return { dialogue: found, ended: false };
  return stay({ ...dialogue, page: 0 }, 'hint.noMatch');
}
