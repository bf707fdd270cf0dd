import type { Dialogue } from '../menu/dialogue.ts';
import { type Menu, reservedKeys } from '../menu/menu.ts';
import { backKeyOf, canGoBack } from '../menu/render.ts';

export type InputOutcome = 'answered' | 'refused' | 'back' | 'exited';

export interface TakenInput {
  before: Dialogue;
  value: string;
  after: Dialogue;
}

/** What an input did on the screen it was typed on; `undefined` if it turned a page, searched a list or stayed in a form. */
export function outcomeOf(menu: Menu, { before, value, after }: TakenInput): InputOutcome | undefined {
  const state = menu.states.get(before.state);
  if (!state || state.kind === 'end') return undefined;
  if (value === reservedKeys.exit) return 'exited';
  if (after.state !== before.state) {
    const isBack = before.page === 0 && value === backKeyOf(menu, state, before) && canGoBack(menu, before);
    return isBack ? 'back' : 'answered';
  }
  if (state.kind === 'form' || after.page !== before.page || after.search !== before.search) return undefined;
  return after.hint === undefined ? 'answered' : 'refused';
}
