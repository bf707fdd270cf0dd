import { toShowable } from '../gsm.ts';
import { layOut, type Page } from '../screen.ts';
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
  const pages = toPages(menu, dialogue);
  return { text: pages[Math.min(dialogue.page, pages.length - 1)]?.text ?? '', ended: state?.kind === 'end' };
}

export function countPages(menu: Menu, dialogue: Dialogue): number {
  return toPages(menu, dialogue).length;
}

export function canGoBack(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.page > 0 || hasWayBack(menu.states.get(dialogue.state), dialogue);
}

/** `0`, or `00` on a question that `0` answers. */
export function backKeyOf(menu: Menu, state: State): string {
  if (state.kind !== 'prompt') return reservedKeys.back;
  const context = { answer: () => undefined, phoneNumber: '' };
  const takesZero = menu.registry.validators[state.validator]?.check(reservedKeys.back, context).ok;
  return takesZero ? reservedKeys.backFromZero : reservedKeys.back;
}

function visibleOptions(state: State | undefined, dialogue: Dialogue): Option[] {
  if (state?.kind !== 'menu' && state?.kind !== 'page') return [];
  return state.options.filter((option) => {
    if (option.when === undefined) return true;
    if (option.when === 'resumable') return dialogue.resume !== undefined;
    return (option.when === 'authenticated') === (dialogue.account !== undefined);
  });
}

/** The options a choice is looked up in. Those of a page stand after its text: before they are shown, `1` is a slip. */
export function choosableOptions(menu: Menu, dialogue: Dialogue): Option[] {
  const state = menu.states.get(dialogue.state);
  const options = visibleOptions(state, dialogue);
  if (state?.kind !== 'page') return options;
  // A hint may push a choice off the page it was seen on; it can still be taken.
  const { hint: _, ...unhinted } = dialogue;
  return options.slice(0, toPages(menu, unhinted)[dialogue.page]?.lines);
}

function hasWayBack(state: State | undefined, dialogue: Dialogue): boolean {
  return state !== undefined && 'back' in state && state.back && dialogue.stack.length > 0;
}

/** Screens without values are the same for everyone: laid out once for each menu, language and set of options. */
const staticPages = new WeakMap<Menu, Map<string, Page[]>>();

function toPages(menu: Menu, dialogue: Dialogue): Page[] {
  const state = menu.states.get(dialogue.state);
  if (!state || state.kind === 'action') return [];
  const options = visibleOptions(state, dialogue);
  const hasBack = hasWayBack(state, dialogue);
  // Everything the screen depends on but the values: the place, the language, the hint, and what conditions ask for.
  const { language, hint, hintPage, account, resume } = dialogue;
  const key = `${dialogue.state} ${language} ${hint} ${hintPage} ${hasBack} ${account !== undefined} ${resume !== undefined}`;
  const known = staticPages.get(menu) ?? new Map<string, Page[]>();
  staticPages.set(menu, known);
  const pages = known.get(key);
  if (pages) return pages;

  const made = createPages(menu, dialogue, { state, options, hasBack });
  const texts = [state.text, dialogue.hint ?? state.text, ...options.map((option) => option.text)];
  const isStatic = texts.every((text) => !menu.locales.get(dialogue.language)?.get(text)?.includes('{'));
  if (isStatic) known.set(key, made);
  return made;
}

interface Shown {
  state: Exclude<State, { kind: 'action' }>;
  options: Option[];
  hasBack: boolean;
}

function createPages(menu: Menu, dialogue: Dialogue, { state, options, hasBack }: Shown): Page[] {
  const say = (key: string) => translate(menu.locales, dialogue.language, key, dialogue.values);
  const body = say(state.text);
  if (state.kind === 'end') return [{ text: toShowable(body), lines: 0 }];
  return layOut(
    {
      ...(dialogue.hint !== undefined && { hint: say(dialogue.hint), hintPage: dialogue.hintPage ?? 0 }),
      body,
      lines: options.map((option) => `${option.key}. ${say(option.text)}`),
    },
    {
      more: `${reservedKeys.more}. ${say('common.more')}`,
      back: `${backKeyOf(menu, state)}. ${say('common.back')}`,
      exit: `${reservedKeys.exit}. ${say('common.exit')}`,
      hasBack,
    },
  );
}
