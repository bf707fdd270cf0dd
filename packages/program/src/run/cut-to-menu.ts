import type { Dialogue } from '../model/dialogue.ts';
import type { Menu } from '../model/menu.ts';
import type { MenuState } from '../states/menu.ts';
import { isQuestion, reach, targetsOf } from '../states/states.ts';

/**
 * The screens behind a dialogue that has just finished the action it is in, without those of its form: the form begins
 * with its first question, or with the menu that offers the action itself. The start is above every form.
 */
export function cutToMenu(menu: Menu, { state: action, stack }: Dialogue): readonly string[] {
  const question = stack.findIndex((name, i) => i > 0 && isQuestion(menu.states.get(name)));
  const above = question < 0 ? stack : stack.slice(0, question);
  const at = above.findLastIndex((name, i) => {
    const state = menu.states.get(name);
    return i === 0 || (state?.kind === 'menu' && !offers(menu, state, action));
  });
  return above.slice(0, at + 1);
}

/** Whether one choice on this menu is enough to run the action. */
function offers(menu: Menu, { options }: MenuState, action: string): boolean {
  const next = (name: string) => {
    const state = menu.states.get(name);
    return state && !('text' in state) ? targetsOf(state).map(({ to }) => to) : [];
  };
  return reach(
    options.map(({ to }) => to),
    next,
  ).has(action);
}
