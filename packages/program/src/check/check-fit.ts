import type { Dialogue } from '../model/dialogue.ts';
import { placeholdersOf, translate } from '../model/locales.ts';
import type { Menu, State } from '../model/menu.ts';
import type { PlacedStates } from '../parse/parse-menu.ts';
import { fitsOneScreen } from '../show/lay-out.ts';
import { countPages } from '../show/render.ts';
import { isTyped, type PromptState } from '../states/prompt.ts';
import { kindOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { hintsOf, limitHintOf } from '../values/question.ts';
import { longest, longestOf } from '../values/value-types.ts';

/** A letter outside GSM-7: a screen with it holds 80 characters. */
const wideLetter = 'ش';

/** Questions and closing texts must fit one screen: on further pages `98` would be an answer, and after `END` nothing can be asked for. */
export function checkFit(menu: Menu, places: PlacedStates): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  for (const key of menu.registry.closings ?? []) {
    for (const [language, texts] of menu.locales)
      if (!fitsOneScreen(texts.get(key) ?? ''))
        faults.push({
          file: 'locales',
          line: 1,
          message: `the text ${key} does not fit one screen in ${language}: shorten it`,
        });
  }
  const outcomeHints = hintsByState(menu);
  const longestValue = createLongestValue(menu);
  for (const [name, { fault, inherited }] of places) {
    const state = menu.states.get(name);
    if (state?.kind !== 'prompt' && state?.kind !== 'end') continue;
    // A list of choices breaks into pages as a menu does.
    if (state.kind === 'prompt' && state.question?.options) continue;
    const hints = state.kind === 'end' ? [undefined] : hintsFor(menu, state, outcomeHints.get(name) ?? []);
    for (const [language, texts] of menu.locales) {
      for (const hint of hints) {
        const named = [state.text, hint ?? ''].flatMap((key) => placeholdersOf(texts.get(key) ?? ''));
        const fits = (isWide: boolean) => {
          const values = Object.fromEntries(named.map((value) => [value, longestValue(value, language, isWide)]));
          const dialogue: Dialogue = { state: name, stack: [name], page: 0, values, secrets: {}, language };
          return countPages(menu, { ...dialogue, ...(hint !== undefined && { hint }) }) === 1;
        };
        const what = hint === undefined ? `the text ${state.text}` : `the question ${state.text} with the hint ${hint}`;
        const wide = `takes two screens in ${language} where a name is in another script`;
        if (!fits(false)) faults.push(fault(['text'], `${what} does not fit one screen in ${language}: shorten it`));
        else if (!inherited && !fits(true)) warnings.push(fault(['text'], `${what} ${wide}`));
      }
    }
  }
  return { faults, warnings };
}

function hintsFor({ registry, locales }: Menu, { question, validator = '' }: PromptState, more: string[]): string[] {
  const own = question
    ? [...hintsOf(question), question.hint ?? limitHintOf(question)]
    : (registry.validators[validator]?.hints ?? []);
  const [texts] = locales.values();
  return [...new Set(['hint.empty', ...(registry.hints ?? []), ...own, ...more])].filter((key) => texts?.has(key));
}

function hintsByState(menu: Menu): Map<string, string[]> {
  const hints = new Map<string, string[]>();
  for (const state of menu.states.values())
    for (const { to, hint } of state.kind === 'action' ? Object.values(state.outcomes) : [])
      if (hint !== undefined) hints.set(to, [...(hints.get(to) ?? []), hint]);
  return hints;
}

function createLongestValue(menu: Menu) {
  const writers = findWriters(menu);
  return (name: string, language: string, isWide: boolean): string => {
    const [head = '', field] = name.split('.');
    const seen = { menu, language, say: (key: string) => translate(menu.locales, language, key) };
    const states = writers.get(head)?.map(({ state }) => state) ?? [];
    const found = states.flatMap((state) => {
      const { labels = [], values = [] } = kindOf(state).longest?.(state, head, seen) ?? {};
      return field === 'label' ? labels : values;
    });
    const type = menu.types.get(head) ?? (head === 'today' ? 'date' : undefined);
    const value = longest(found) || longestOf(field === undefined ? type : undefined);
    const isAnyText = field === undefined && states.some((state) => state.kind === 'prompt' && isTyped(state));
    return isWide && isAnyText ? value.replace(/^./, wideLetter) : value;
  };
}

/** The states that say how long a value is, by its name. */
function findWriters(menu: Menu): Map<string, { name: string; state: State }[]> {
  const all = [...menu.states.values()].flatMap((state) => {
    const { gives, longest } = kindOf(state);
    const names = longest ? new Set(Array.from(gives?.(state, menu) ?? [], ([name]) => name)) : [];
    return Array.from(names, (name) => ({ name, state }));
  });
  return Map.groupBy(all, ({ name }) => name);
}
