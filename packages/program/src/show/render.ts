import { LRUCache } from 'lru-cache';
import type { Dialogue } from '../model/dialogue.ts';
import { todayOf } from '../model/evaluate.ts';
import { maxShownLength, translate } from '../model/locales.ts';
import type { Menu, Option, State } from '../model/menu.ts';
import type { Say, ScreenContent } from '../states/kind.ts';
import { kindOf } from '../states/states.ts';
import { reservedKeys } from '../values/keys.ts';
import { type Surface, ussd } from '../values/surface.ts';
import { type Line, layOut, type Page } from './lay-out.ts';

export interface Screen {
  text: string;
  ended: boolean;
  /** The keys that can be pressed, on a surface that shows them beside the text. */
  buttons?: readonly Line[];
}

export function renderScreen(menu: Menu, dialogue: Dialogue): Screen {
  const state = menu.states.get(dialogue.state);
  const pages = toPages(menu, dialogue);
  const last = pages.length - 1;
  const { text = '', buttons } = pages[Math.min(dialogue.page, last)] ?? {};
  return { text, ended: state?.kind === 'end' && dialogue.page >= last, ...(buttons && { buttons }) };
}

/** The hint and, of a page that fits one screen, its text: without choices and keys. */
export function renderAlone(menu: Menu, dialogue: Dialogue): string {
  const state = menu.states.get(dialogue.state);
  const content = state && kindOf(state).content?.(state, { menu, dialogue, say: createSay(menu, dialogue) });
  const isPage = state?.kind === 'page' && countPages(menu, dialogue) === 1;
  const hint = dialogue.hint === undefined ? '' : (content?.hint ?? '');
  return [hint, isPage ? (content?.body ?? '') : ''].filter((part) => part !== '').join('\n');
}

export function createSay(menu: Menu, dialogue: Dialogue): Say {
  const today = () => todayOf(dialogue);
  return (key, values = dialogue.values) => translate(menu.locales, dialogue.language, key, values, today);
}

export function countPages(menu: Menu, dialogue: Dialogue): number {
  return toPages(menu, dialogue).length;
}

export function canGoBack(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.page > 0 || hasWayBack(menu.states.get(dialogue.state), dialogue);
}

export function backKeyOf(menu: Menu, state: State, dialogue: Dialogue): string {
  return kindOf(state).backKey?.(state, menu, dialogue) ?? reservedKeys.back;
}

/** The options a choice is looked up in. Those of a page come after its text: before they are shown, `1` is a wrong input. */
export function choosableOptions(menu: Menu, dialogue: Dialogue): Option[] {
  const state = menu.states.get(dialogue.state);
  const options = (state && kindOf(state).options?.(state, menu, dialogue)) ?? [];
  if (state?.kind !== 'page') return options;
  // A hint may push a choice off the page it was seen on; it can still be taken.
  const { hint: _, ...unhinted } = dialogue;
  return options.slice(0, toPages(menu, unhinted)[dialogue.page]?.lines);
}

function hasWayBack(state: State | undefined, dialogue: Dialogue): boolean {
  if (state?.kind === 'form') return true;
  return state !== undefined && 'back' in state && state.back && dialogue.stack.length > 0;
}

export const surfaceOf = ({ caller }: Dialogue): Surface => caller?.surface ?? ussd;

/** Layouts by their texts: the same texts have the same layout for every caller. */
const laidOut = new WeakMap<Surface, LRUCache<string, Page[]>>();
const maxKeyLength = 1_000;

function toPages(menu: Menu, dialogue: Dialogue): Page[] {
  const state = menu.states.get(dialogue.state);
  const say = createSay(menu, dialogue);
  const content = state && kindOf(state).content?.(state, { menu, dialogue, say });
  if (!state || !content) return [];
  const { hint, body, lines } = limitContent(content);
  const surface = surfaceOf(dialogue);
  const keys: NonNullable<Surface['keys']> = surface.keys ?? {};
  const isEnd = state.kind === 'end';
  const more = { key: keys.more ?? reservedKeys.more, label: say('common.more') };
  const back = isEnd ? undefined : { key: keys.back ?? backKeyOf(menu, state, dialogue), label: say('common.back') };
  const exit = isEnd ? undefined : { key: keys.exit ?? reservedKeys.exit, label: say('common.exit') };
  const hasBack = hasWayBack(state, dialogue);
  const { language, hintPage = 0 } = dialogue;
  const { skip } = keys;
  const shown = skip ? lines.map((line) => (line.key === reservedKeys.skip ? { ...line, key: skip } : line)) : lines;
  let key = `${language}\0${isEnd}\0${hasBack}\0${hintPage}\0${hint}\0${body}`;
  for (const line of [...shown, more, back, exit]) if (line) key += `\0${line.key}${line.label}`;
  const cache = laidOut.get(surface) ?? new LRUCache<string, Page[]>({ max: 2_000 });
  laidOut.set(surface, cache);
  const known = cache.get(key);
  if (known) return known;
  const laid = { ...(hint !== undefined && { hint, hintPage }), body, lines: shown };
  const pages = layOut(laid, { more, back, exit, hasBack }, surface);
  if (key.length <= maxKeyLength) cache.set(key, pages);
  return pages;
}

/** Choices that are left out can still be chosen. */
function limitContent({ hint, body, lines }: ScreenContent): ScreenContent {
  const shown = body.slice(0, maxShownLength);
  let length = shown.length;
  const end = lines.findIndex(({ key, label }) => {
    length += key.length + label.length;
    return length > maxShownLength;
  });
  return { hint: hint?.slice(0, maxShownLength), body: shown, lines: end === -1 ? lines : lines.slice(0, end) };
}
