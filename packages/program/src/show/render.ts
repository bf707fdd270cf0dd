import { LRUCache } from 'lru-cache';
import type { Dialogue } from '../model/dialogue.ts';
import { todayOf } from '../model/evaluate.ts';
import { maxShownLength, translate } from '../model/locales.ts';
import { type Menu, type Option, resumeTarget, type State } from '../model/menu.ts';
import type { Say } from '../states/kind.ts';
import { kindOf, targetsOf } from '../states/states.ts';
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
  const { hint = '', body = '' } = contentOf(menu, dialogue) ?? {};
  const isPage = menu.states.get(dialogue.state)?.kind === 'page' && countPages(menu, dialogue) === 1;
  return [dialogue.hint === undefined ? '' : hint, isPage ? body : ''].filter((part) => part !== '').join('\n');
}

export function createSay(menu: Menu, dialogue: Dialogue): Say {
  const today = () => todayOf(dialogue);
  return (key, values = dialogue.values) => translate(menu.locales, dialogue.language, key, values, today);
}

export const countPages = (menu: Menu, dialogue: Dialogue): number => toPages(menu, dialogue).length;

export function canGoBack(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.page > 0 || hasWayBack(menu.states.get(dialogue.state), dialogue);
}

export function backKeyOf(menu: Menu, state: State, dialogue: Dialogue): string {
  return kindOf(state).backKey?.(state, menu, dialogue) ?? reservedKeys.back;
}

/** The options that can be chosen now. Those of a page follow its text: until they are shown, `1` is a wrong input. */
export function choosableOptions(menu: Menu, dialogue: Dialogue): Option[] {
  const state = menu.states.get(dialogue.state);
  const options = (state && kindOf(state).options?.(state, menu, dialogue)) ?? [];
  if (state?.kind !== 'page') return options;
  // A hint may push a choice off the page it was seen on; it can still be taken.
  return options.slice(0, toPages(menu, { ...dialogue, hint: undefined })[dialogue.page]?.lines);
}

function hasWayBack(state: State | undefined, dialogue: Dialogue): boolean {
  if (state?.kind === 'form') return true;
  return state !== undefined && 'back' in state && state.back && dialogue.stack.length > 0;
}

export const surfaceOf = ({ caller }: Dialogue): Surface => caller?.surface ?? ussd;

const laidOut = new WeakMap<Surface, LRUCache<string, Page[]>>();
const maxKeyLength = 1_000;

function toPages(menu: Menu, dialogue: Dialogue): Page[] {
  const state = menu.states.get(dialogue.state);
  const content = contentOf(menu, dialogue);
  if (!state || !content) return [];
  const surface = surfaceOf(dialogue);
  const keys: NonNullable<Surface['keys']> = surface.keys ?? {};
  const say = createSay(menu, dialogue);
  const isEnd = state.kind === 'end';
  const more = { key: keys.more ?? reservedKeys.more, label: say('common.more') };
  const back = isEnd ? undefined : { key: keys.back ?? backKeyOf(menu, state, dialogue), label: say('common.back') };
  const exit = isEnd ? undefined : { key: keys.exit ?? reservedKeys.exit, label: say('common.exit') };
  const hasBack = hasWayBack(state, dialogue);
  const { hint, body } = content;
  const { hintPage = 0 } = dialogue;
  const { skip } = keys;
  const toShown = (line: Line) => (line.key === reservedKeys.skip ? { ...line, key: skip ?? line.key } : line);
  const lines = skip ? content.lines.map(toShown) : content.lines;
  let key = `${isEnd}\0${hasBack}\0${hintPage}\0${hint}\0${body}`;
  for (const line of [...lines, more, back, exit]) if (line) key += `\0${line.key}${line.label}`;
  const cache = laidOut.get(surface) ?? new LRUCache<string, Page[]>({ max: 2_000 });
  laidOut.set(surface, cache);
  const known = cache.get(key);
  if (known) return known;
  const pages = layOut({ hint, hintPage, body, lines }, { more, back, exit, hasBack }, surface);
  if (key.length <= maxKeyLength) cache.set(key, pages);
  return pages;
}

/** What a screen shows, cut to what can be laid out. Choices that are cut off can still be chosen. */
function contentOf(menu: Menu, dialogue: Dialogue) {
  const state = menu.states.get(dialogue.state);
  if (!state) return undefined;
  const say = createSay(menu, dialogue);
  const { content, options } = kindOf(state);
  const shown = content?.(state, { menu, dialogue, say }) ?? ('text' in state && { body: say(state.text) });
  if (!shown) return undefined;
  const choices = options?.(state, menu, dialogue) ?? [];
  const lines = shown.lines ?? choices.map(({ key, label, text }) => ({ key, label: label ?? say(text) }));
  const hint = shown.hint ?? (dialogue.hint === undefined ? undefined : say(dialogue.hint));
  const body = shown.body.slice(0, maxShownLength);
  let { length } = body;
  const kept = lines.filter(({ key, label }) => {
    length += key.length + label.length;
    return length <= maxShownLength;
  });
  return { hint: hint?.slice(0, maxShownLength), body, lines: kept };
}

/** The program as a Mermaid flowchart. */
export function drawMenu(menu: Menu, language: string): string {
  const lines = ['flowchart TD'];
  for (const [name, state] of menu.states) {
    const { outline: [open, close] = ['{', '}'], summary } = kindOf(state);
    const shown = 'text' in state ? translate(menu.locales, language, state.text).split('\n', 1)[0] : undefined;
    const label = escapeLabel(`${name}: ${shown ?? summary?.(state) ?? state.kind}`);
    lines.push(`  ${name}${open}"${label}"${close}`);
    for (const { to, label: edge } of targetsOf(state))
      if (to !== resumeTarget) lines.push(`  ${name} -->|${escapeLabel(edge)}| ${to}`);
  }
  return `${lines.join('\n')}\n`;
}

const escapeLabel = (text: string) => text.replace(/["<>&|{}[\]()]/g, (char) => `#${char.codePointAt(0)};`);
