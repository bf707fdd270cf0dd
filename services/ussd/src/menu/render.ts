import { LRUCache } from 'lru-cache';
import { layOut, type Page } from '../screen.ts';
import type { Dialogue } from './dialogue.ts';
import { holds, todayOf } from './evaluate.ts';
import { type FormContent, formBackKey, type Say, toFormContent } from './form-screen.ts';
import { limitValues } from './limits.ts';
import { isSearchable, toListOptions } from './list-options.ts';
import { maxShownLength, translate } from './locales.ts';
import { isCondition, type Menu, type Option, reservedKeys, type ScreenState, type State } from './menu.ts';
import { takesZero } from './question.ts';
import { toShownQuestion } from './validate-answer.ts';

export interface Screen {
  text: string;
  ended: boolean;
}

/** What the user sees of a dialogue at a screen. */
export function renderScreen(menu: Menu, dialogue: Dialogue): Screen {
  const state = menu.states.get(dialogue.state);
  const pages = toPages(menu, dialogue);
  const page = Math.min(dialogue.page, pages.length - 1);
  return { text: pages[page]?.text ?? '', ended: state?.kind === 'end' && page === pages.length - 1 };
}

/** The hint and, of a page that fits one screen, its text: without choices and keys. */
export function renderAlone(menu: Menu, dialogue: Dialogue): string {
  const state = menu.states.get(dialogue.state);
  const say = createSay(menu, dialogue);
  const hint = toHint(state, dialogue, say) ?? '';
  const isPage = state?.kind === 'page' && countPages(menu, dialogue) === 1;
  return [hint, isPage ? say(state.text) : ''].filter((part) => part !== '').join('\n');
}

/** Texts in the caller's language, with the values of the dialogue and `{today}`. */
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

/** `0`, or `00` on a question that `0` answers. */
export function backKeyOf(menu: Menu, state: State, { form }: Pick<Dialogue, 'form'>): string {
  if (state.kind === 'form') return formBackKey(form?.screen);
  if (state.kind !== 'prompt') return reservedKeys.back;
  const context = { answer: () => undefined, phoneNumber: '' };
  const isAnswer = state.question
    ? takesZero(state.question)
    : menu.registry.validators[state.validator ?? '']?.check(reservedKeys.back, context).ok;
  return isAnswer ? reservedKeys.backFromZero : reservedKeys.back;
}

function visibleOptions(menu: Menu, state: State | undefined, dialogue: Dialogue): Option[] {
  if (state?.kind !== 'menu' && state?.kind !== 'page') return [];
  if (state.kind === 'menu' && state.from) return toListOptions(menu, state, dialogue);
  return state.options.filter((option) => {
    const { when } = option;
    if (when === undefined) return true;
    if (!isCondition(when)) return holds(menu, dialogue, when);
    if (when === 'resumable') return dialogue.resume !== undefined;
    if (when === 'newcomer') return dialogue.isNewcomer === true;
    return (when === 'authenticated') === (dialogue.account !== undefined);
  });
}

/** The options a choice is looked up in. Those of a page come after its text: before they are shown, `1` is a wrong input. */
export function choosableOptions(menu: Menu, dialogue: Dialogue): Option[] {
  const state = menu.states.get(dialogue.state);
  const options = visibleOptions(menu, state, dialogue);
  if (state?.kind !== 'page') return options;
  // A hint may push a choice off the page it was seen on; it can still be taken.
  const { hint: _, ...unhinted } = dialogue;
  return options.slice(0, toPages(menu, unhinted)[dialogue.page]?.lines);
}

function hasWayBack(state: State | undefined, dialogue: Dialogue): boolean {
  if (state?.kind === 'form') return true;
  return state !== undefined && 'back' in state && state.back && dialogue.stack.length > 0;
}

/** Laying out is a function of its texts alone, so what it gave for them before it gives again, to whomever they are shown. */
const laidOut = new LRUCache<string, Page[]>({ max: 2_000 });
const maxKeyLength = 1_000;

function toPages(menu: Menu, dialogue: Dialogue): Page[] {
  const state = menu.states.get(dialogue.state);
  if (!state || (state.kind !== 'form' && !('text' in state))) return [];
  const say = createSay(menu, dialogue);
  const { hint, body, lines } = limitContent(
    state.kind === 'form' ? toFormContent(dialogue, say) : toContent(menu, state, dialogue, say),
  );
  const isEnd = state.kind === 'end';
  const back = isEnd ? reservedKeys.back : backKeyOf(menu, state, dialogue);
  const hasBack = hasWayBack(state, dialogue);
  const footer = [say('common.more'), say('common.back'), say('common.exit')] as const;
  const { language, hintPage } = dialogue;
  const key = [language, isEnd, back, hasBack, hintPage, hint, body, ...footer, ...lines].join('\0');
  const known = laidOut.get(key);
  if (known) return known;
  const pages = layOut(
    { ...(hint !== undefined && { hint, hintPage: hintPage ?? 0 }), body, lines },
    {
      more: `${reservedKeys.more}. ${footer[0]}`,
      back: isEnd ? '' : `${back}. ${footer[1]}`,
      exit: isEnd ? '' : `${reservedKeys.exit}. ${footer[2]}`,
      hasBack,
    },
  );
  if (key.length <= maxKeyLength) laidOut.set(key, pages);
  return pages;
}

/** The choices that are left out can still be taken. */
function limitContent({ hint, body, lines }: FormContent): FormContent {
  const shown = body.slice(0, maxShownLength);
  let length = shown.length;
  const end = lines.findIndex((line) => {
    length += line.length;
    return length > maxShownLength;
  });
  return { hint: hint?.slice(0, maxShownLength), body: shown, lines: end === -1 ? lines : lines.slice(0, end) };
}

function toContent(menu: Menu, state: ScreenState, dialogue: Dialogue, say: Say): FormContent {
  const isLong = state.kind === 'menu' && isSearchable(menu, state, dialogue);
  const body = isLong ? `${say(state.text)}\n${say('common.search')}` : say(state.text);
  return { hint: toHint(state, dialogue, say), body, lines: toLines(menu, state, dialogue, say) };
}

/** Hints may name the limits of the question. */
function toHint(state: State | undefined, dialogue: Dialogue, say: Say): string | undefined {
  const { hint, values } = dialogue;
  const question = state?.kind === 'prompt' ? state.question : undefined;
  if (hint === undefined) return undefined;
  return question ? say(hint, { ...values, ...limitValues(question, todayOf(dialogue)) }) : say(hint);
}

function toLines(menu: Menu, state: ScreenState, dialogue: Dialogue, say: Say): string[] {
  if (state.kind === 'end') return [];
  if (state.kind !== 'prompt')
    return visibleOptions(menu, state, dialogue).map((option) => `${option.key}. ${option.label ?? say(option.text)}`);
  const shown = state.question && toShownQuestion(menu, dialogue, state.question);
  const choices = shown?.options?.map(({ text }, i) => `${i + 1}. ${say(text)}`) ?? [];
  return state.optional ? [...choices, `${reservedKeys.skip}. ${say('common.skip')}`] : choices;
}
