import type { Dialogue } from '../model/dialogue.ts';
import { placeholdersOf, translate } from '../model/locales.ts';
import type { Menu, StateKinds } from '../model/menu.ts';
import type { PlacedState } from '../parse/parse-menu.ts';
import { fitsOneScreen } from '../show/lay-out.ts';
import { countPages } from '../show/render.ts';
import type { PromptState } from '../states/prompt.ts';
import type { Fault } from '../values/fault.ts';
import { limitHintOf } from '../values/limits.ts';
import { hintsOf } from '../values/question.ts';
import { isTyped, longestValue } from './longest-values.ts';

/** Makes a screen one of 80 characters. */
const wideLetter = 'ش';

/**
 * Long screens are split into pages; a question and a closing message should not: the answer `98` would be ambiguous, and after `END`
 * nothing can be asked for. Both must fit one screen in every language with the longest values of their types, a question
 * also with its longest hint. What callers type in another script takes more room: then a note says that it takes two screens.
 */
export function checkFit(menu: Menu, places: ReadonlyMap<string, PlacedState>): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  for (const key of ['main.expired', 'main.callFull']) {
    for (const [language, texts] of menu.locales)
      if (!fitsOneScreen(texts.get(key) ?? ''))
        faults.push({ file: 'locales', line: 1, message: `the text ${key} does not fit one screen in ${language}` });
  }
  const outcomeHints = hintsByState(menu);
  for (const [name, { file, lineOf, inherited }] of places) {
    const state = menu.states.get(name);
    if (state?.kind !== 'prompt' && state?.kind !== 'end') continue;
    // A list of choices breaks into pages as a menu does.
    if (state.kind === 'prompt' && state.question?.options) continue;
    const at = { file, line: lineOf('text'), state: name };
    const hints = state.kind === 'end' ? [undefined] : hintsFor(menu, state, outcomeHints.get(name) ?? []);
    for (const language of menu.locales.keys()) {
      for (const hint of hints) {
        const screen = { menu, name, state, language, hint };
        const what = hint === undefined ? `the text ${state.text}` : `the question ${state.text} with the hint ${hint}`;
        if (!fits(screen)) faults.push({ ...at, message: `${what} does not fit one screen in ${language}` });
        else if (!inherited && !fits({ ...screen, isWide: true }))
          warnings.push({
            ...at,
            message: `${what} takes two screens in ${language} where a name is in another script`,
          });
      }
    }
  }
  return { faults, warnings };
}

interface TriedScreen {
  menu: Menu;
  name: string;
  state: PromptState | StateKinds['end'];
  language: string;
  hint: string | undefined;
  isWide?: boolean;
}

function fits({ menu, name, state, language, hint, isWide = false }: TriedScreen): boolean {
  const texts = menu.locales.get(language);
  const named = [state.text, ...(hint === undefined ? [] : [hint])].flatMap((key) =>
    placeholdersOf(texts?.get(key) ?? ''),
  );
  const longest = (key: string) => {
    const value = longestValue(menu, key, language);
    return isWide && isTyped(menu, key) ? value.replace(/^./, wideLetter) : value;
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
  return [...new Set(['hint.empty', 'main.callLow', ...own, ...more])].filter((key) =>
    menu.locales.values().next().value?.has(key),
  );
}

/** The hints with which actions lead to a state. */
function hintsByState(menu: Menu): Map<string, string[]> {
  const hints = new Map<string, string[]>();
  for (const state of menu.states.values()) {
    if (state.kind !== 'action') continue;
    for (const { to, hint } of Object.values(state.outcomes))
      if (hint !== undefined) hints.set(to, [...(hints.get(to) ?? []), hint]);
  }
  return hints;
}
