import { toShowable } from '../gsm.ts';
import { layOut } from '../screen.ts';
import type { Dialogue } from './dialogue.ts';
import { translate } from './locales.ts';
import { type Menu, type Option, reservedKeys, type State } from './menu.ts';

export interface Screen {
  text: string;
  ended: boolean;
}

/** What the user sees of a dialogue that stands at a screen. */
export function renderScreen(menu: Menu, dialogue: Dialogue): Screen {
  const state = menu.states.get(dialogue.state);
  if (state?.kind === 'end') {
    return { text: toShowable(translate(menu.locales, dialogue.language, state.text, dialogue.values)), ended: true };
  }
  const pages = toPages(menu, dialogue);
  return { text: pages[Math.min(dialogue.page, pages.length - 1)] ?? '', ended: false };
}

export function countPages(menu: Menu, dialogue: Dialogue): number {
  return toPages(menu, dialogue).length;
}

export function canGoBack(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.page > 0 || hasWayBack(menu.states.get(dialogue.state), dialogue);
}

export function visibleOptions(state: State | undefined, dialogue: Dialogue): Option[] {
  if (state?.kind !== 'menu' && state?.kind !== 'page') return [];
  return state.options.filter((option) => {
    if (option.when === undefined) return true;
    if (option.when === 'resumable') return dialogue.resume !== undefined;
    return (option.when === 'authenticated') === (dialogue.account !== undefined);
  });
}

function hasWayBack(state: State | undefined, dialogue: Dialogue): boolean {
  return state !== undefined && 'back' in state && state.back && dialogue.stack.length > 0;
}

function toPages(menu: Menu, dialogue: Dialogue): string[] {
  const state = menu.states.get(dialogue.state);
  if (!state || state.kind === 'action' || state.kind === 'end') return [];
  const say = (key: string) => translate(menu.locales, dialogue.language, key, dialogue.values);
  const body = say(state.text);
  return layOut(
    {
      body: dialogue.hint === undefined ? body : `${say(dialogue.hint)}\n${body}`,
      lines: visibleOptions(state, dialogue).map((option) => `${option.key}. ${say(option.text)}`),
    },
    {
      more: `${reservedKeys.more}. ${say('common.more')}`,
      back: `${reservedKeys.back}. ${say('common.back')}`,
      exit: `${reservedKeys.exit}. ${say('common.exit')}`,
      hasBack: hasWayBack(state, dialogue),
    },
  );
}
