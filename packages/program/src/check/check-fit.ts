import type { Dialogue } from '../model/dialogue.ts';
import { placeholdersOf, translate } from '../model/locales.ts';
import type { Menu, State, StateKinds } from '../model/menu.ts';
import type { PlacedStates } from '../parse/parse-menu.ts';
import { fitsOneScreen } from '../show/lay-out.ts';
import { countPages } from '../show/render.ts';
import { isTyped, type PromptState } from '../states/prompt.ts';
import { kindOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { hintsOf, limitHintOf } from '../values/question.ts';
import { longest, longestOf } from '../values/value-types.ts';

/** Makes a screen one of 80 characters. */
const wideLetter = 'ش';

/** Questions and closing texts must fit one screen: on further pages `98` would be an answer, and after `END` nothing can be asked for. */
export function checkFit(menu: Menu, places: PlacedStates): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  for (const key of ['main.expired', 'main.callFull']) {
    for (const [language, texts] of menu.locales)
      if (!fitsOneScreen(texts.get(key) ?? ''))
        faults.push({ file: 'locales', line: 1, message: `the text ${key} does not fit one screen in ${language}` });
  }
  const outcomeHints = hintsByState(menu);
  for (const [name, { fault, inherited }] of places) {
    const state = menu.states.get(name);
    if (state?.kind !== 'prompt' && state?.kind !== 'end') continue;
    // A list of choices breaks into pages as a menu does.
    if (state.kind === 'prompt' && state.question?.options) continue;
    const hints = state.kind === 'end' ? [undefined] : hintsFor(menu, state, outcomeHints.get(name) ?? []);
    for (const language of menu.locales.keys()) {
      for (const hint of hints) {
        const fits = (isWide: boolean) => fitsWith(menu, name, state, { language, hint, isWide });
        const what = hint === undefined ? `the text ${state.text}` : `the question ${state.text} with the hint ${hint}`;
        const wide = `takes two screens in ${language} where a name is in another script`;
        if (!fits(false)) faults.push(fault(['text'], `${what} does not fit one screen in ${language}`));
        else if (!inherited && !fits(true)) warnings.push(fault(['text'], `${what} ${wide}`));
      }
    }
  }
  return { faults, warnings };
}

function fitsWith(
  menu: Menu,
  name: string,
  state: PromptState | StateKinds['end'],
  { language, hint, isWide }: { language: string; hint: string | undefined; isWide: boolean },
): boolean {
  const texts = menu.locales.get(language);
  const named = [state.text, hint ?? ''].flatMap((key) => placeholdersOf(texts?.get(key) ?? ''));
  const longest = (key: string) => {
    const value = longestValue(menu, key, language);
    return isWide && isTypedValue(menu, key) ? value.replace(/^./, wideLetter) : value;
  };
  const values: Record<string, string> = Object.fromEntries(named.map((key) => [key, longest(key)]));
  if (state.kind === 'end') return fitsOneScreen(translate(menu.locales, language, state.text, values));
  const dialogue: Dialogue = { state: name, stack: [name], page: 0, values, secrets: {}, language };
  return countPages(menu, { ...dialogue, ...(hint !== undefined && { hint }) }) === 1;
}

function hintsFor(menu: Menu, { question, validator = '' }: PromptState, more: string[]): string[] {
  const own = question
    ? [...hintsOf(question), question.hint ?? limitHintOf(question)]
    : (menu.registry.validators[validator]?.hints ?? []);
  const [texts] = menu.locales.values();
  return [...new Set(['hint.empty', 'main.callLow', ...own, ...more])].filter((key) => texts?.has(key));
}

function hintsByState(menu: Menu): Map<string, string[]> {
  const hints = new Map<string, string[]>();
  for (const state of menu.states.values())
    for (const { to, hint } of state.kind === 'action' ? Object.values(state.outcomes) : [])
      if (hint !== undefined) hints.set(to, [...(hints.get(to) ?? []), hint]);
  return hints;
}

function longestValue(menu: Menu, name: string, language: string): string {
  const [head = '', field] = name.split('.');
  const seen = { menu, language, say: (key: string) => translate(menu.locales, language, key) };
  const found = writersOf(menu, head).flatMap((state) => {
    const { labels = [], values = [] } = kindOf(state).longest?.(state, head, seen) ?? {};
    return field === 'label' ? labels : values;
  });
  const type = field === undefined ? (menu.types.get(head) ?? (head === 'today' ? 'date' : undefined)) : undefined;
  return longest(found) || longestOf(type);
}

/** The states that say how long a value is, by its name; computed once per menu. */
const writers = new WeakMap<Menu, Map<string, State[]>>();

function writersOf(menu: Menu, name: string): readonly State[] {
  const known = writers.get(menu) ?? new Map<string, State[]>();
  if (!writers.has(menu)) {
    writers.set(menu, known);
    for (const state of menu.states.values()) {
      const { gives, longest } = kindOf(state);
      const names = longest ? new Set(Array.from(gives?.(state, menu) ?? [], ([given]) => given)) : [];
      for (const given of names) known.set(given, [...(known.get(given) ?? []), state]);
    }
  }
  return known.get(name) ?? [];
}

const isTypedValue = (menu: Menu, name: string): boolean =>
  writersOf(menu, name).some((state) => state.kind === 'prompt' && isTyped(state));
