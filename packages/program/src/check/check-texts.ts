import type { CheckedValues } from '../actions/keyword.ts';
import type { Dialogue } from '../model/dialogue.ts';
import { placeholdersOf, translate } from '../model/locales.ts';
import { type Menu, type Option, type Registry, resumeTarget, type State } from '../model/menu.ts';
import type { LocaleFile, PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { fitsOneScreen } from '../show/lay-out.ts';
import { countPages } from '../show/render.ts';
import { formPlaceholders, formTexts } from '../states/form.ts';
import { isTyped, type PromptState } from '../states/prompt.ts';
import { hintsOf, questionTexts } from '../states/question.ts';
import { kindOf, nextOf, textsOf } from '../states/states.ts';
import { type Fault, suggest } from '../values/fault.ts';
import { longest, longestOf } from '../values/value-types.ts';

const engineTexts = ['common.more', 'common.back', 'common.exit', 'hint.empty', 'hint.choice'];

export function checkTexts(
  states: PlacedStates,
  locales: LocaleFile[],
  { registry, values }: { registry: Registry; values: CheckedValues },
): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  // The texts of actions that no state names are not required.
  const named = [...states.values()].flatMap(({ state }) => (state.kind === 'action' ? state.action : []));
  const own = [...engineTexts, ...registry.texts, ...named.flatMap((name) => registry.actions[name]?.texts ?? [])];
  const used = new Set([...own, ...named.flatMap((name) => registry.actions[name]?.optionalTexts ?? [])]);
  const none = { file: 'locales', line: 1, message: 'there is no file of texts: add one such as locales/en.yaml' };
  if (locales.length === 0) return { faults: [none], warnings: [] };

  for (const { state, fault } of states.values())
    for (const { key, path } of textsOf(state, registry)) {
      if (!used.has(key)) faults.push(...checkPlaceholders(key, locales, values));
      used.add(key);
      const missing = locales.filter(({ texts }) => !texts.has(key)).map(({ language }) => language);
      if (missing.length > 0) faults.push(fault(path, `the text ${key} is missing in ${missing.join(', ')}`));
    }
  for (const key of new Set(own))
    for (const { file, texts } of locales)
      if (!texts.has(key))
        faults.push({ file, line: 1, message: `the text ${key}, which the service uses, is missing: add it` });
  faults.push(...checkSameKeys(locales, used));
  const { optionalTexts = [], hints = [], closings = [] } = registry;
  return { faults, warnings: findUnused(locales, [...used, ...optionalTexts, ...hints, ...closings]) };
}

const alwaysNamed = ['today', 'question.min', 'question.max', ...formPlaceholders];

/** A placeholder is a value that some state gives; `{x.label}` is the text of what was chosen for x. */
function checkPlaceholders(key: string, locales: LocaleFile[], { types, isOpen }: CheckedValues): Fault[] {
  const isGiven = (name: string) =>
    isOpen || types.has(name) || types.has(name.split('.', 1)[0] ?? '') || alwaysNamed.includes(name);
  return locales.flatMap(({ texts, fault }) =>
    placeholdersOf(texts.get(key) ?? '')
      .filter((name) => !isGiven(name))
      .map((name) => fault(key, `there is no value {${name}}${suggest(name, types.keys())}`)),
  );
}

function findUnused(locales: LocaleFile[], used: readonly string[]): Fault[] {
  const reported = new Set([...used, ...questionTexts, ...formTexts]);
  return locales.flatMap(({ texts, inherited, fault }) =>
    [...texts.keys()].flatMap((key) => {
      if (reported.has(key) || inherited?.has(key)) return [];
      reported.add(key);
      return [fault(key, `the text ${key} is not used`)];
    }),
  );
}

/** A text that is used has the same placeholders in every language. Missing ones were reported where they are used. */
function checkSameKeys(locales: LocaleFile[], used: ReadonlySet<string>): Fault[] {
  const faults: Fault[] = [];
  const all = new Map(locales.flatMap((locale) => Array.from(locale.texts.keys(), (key) => [key, locale] as const)));
  for (const [key, source] of all) {
    if (!used.has(key)) continue;
    const namesIn = (text = '') => placeholdersOf(text).sort().join();
    const place = `${source.file}:${source.lineOf(key)}`;
    for (const { texts, fault } of locales) {
      const text = texts.get(key);
      if (text === '') faults.push(fault(key, `the text ${key} is empty: write it, or delete it in every language`));
      else if (text !== undefined && namesIn(text) !== namesIn(source.texts.get(key)))
        faults.push(fault(key, `the text ${key} has other placeholders than in ${place}: use the same`));
    }
  }
  return faults;
}

/** Below the key of More. */
const highestKey = 97;
const [languageState, languageAction] = ['firstLanguage', 'setFirstLanguage'];

/** Adds to the first menu what a program need not write: to continue an unfinished form, and to choose the language at the first dial. */
export function offerOptions(
  states: PlacedStates,
  { start, locales, registry }: { start: string; locales: readonly LocaleFile[]; registry: Registry },
): PlacedStates {
  const first = states.get(start);
  if (first?.state.kind !== 'menu' || first.state.from) return states;
  const menu = first.state;
  const has = (texts: string[]) => locales.every((locale) => texts.every((text) => locale.texts.has(text)));
  // A newcomer has left nothing unfinished: the two may have the same key.
  const shown = menu.options.filter(({ when }) => when !== 'resumable' && when !== 'newcomer');
  const key = String(Math.max(0, ...shown.map((option) => Number(option.key))) + 1);
  if (Number(key) > highestKey) return states;
  const offersResume = [...states.values()].some(({ state }) => nextOf(state).includes(resumeTarget));
  const resume: Option[] =
    has(['main.resume']) && !offersResume ? [{ key, text: 'main.resume', to: resumeTarget, when: 'resumable' }] : [];
  const languages = locales.map(({ language }, i): Option => {
    return { key: String(i + 1), text: `language.${language}`, to: languageAction, set: { language } };
  });
  const texts = ['main.language', 'language.title', 'language.done', ...languages.map(({ text }) => text)];
  const isChoice = languages.length > 1 && Object.hasOwn(registry.actions, 'setLanguage');
  const withOptions = (added: Option[]): [string, PlacedState] => {
    return [start, { ...first, state: { ...menu, options: [...menu.options, ...added] } }];
  };
  if (!isChoice || !has(texts) || offersLanguage(states)) return new Map([...states, withOptions(resume)]);
  const place = (name: string, state: State): [string, PlacedState] => [name, { ...first, state, inherited: true }];
  const outcomes = { changed: { to: start, hint: 'language.done' } };
  return new Map([
    ...states,
    withOptions([...resume, { key, text: 'main.language', to: languageState, when: 'newcomer' }]),
    place(languageState, { kind: 'menu', text: 'language.title', back: true, options: languages }),
    place(languageAction, { kind: 'action', action: 'setLanguage', outcomes }),
  ]);
}

/** What it extends asks for the language in the account menu, which a newcomer does not see. */
function offersLanguage(states: PlacedStates): boolean {
  return [...states].some(
    ([name, { state, inherited }]) =>
      [languageState, languageAction].includes(name) ||
      (!inherited && state.kind === 'action' && state.action === 'setLanguage') ||
      ('options' in state && state.options.some(({ when }) => when === 'newcomer')),
  );
}

/** A letter outside GSM-7: a screen with it holds 80 characters. */
const wideLetter = 'ش';

/** Questions and closing texts must fit one screen: on further pages `98` would be an answer, and after `END` nothing can be asked for. */
export function checkFit(menu: Menu, places: PlacedStates): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const short = (text: string, language: string) => `${text} does not fit one screen in ${language}: shorten it`;
  for (const key of menu.registry.closings ?? [])
    for (const [language, texts] of menu.locales)
      if (!fitsOneScreen(texts.get(key) ?? ''))
        faults.push({ file: 'locales', line: 1, message: short(`the text ${key}`, language) });
  const outcomes = [...menu.states.values()].flatMap((state) =>
    state.kind === 'action' ? Object.values(state.outcomes) : [],
  );
  const outcomesTo = Map.groupBy(outcomes, ({ to }) => to);
  const longestValue = createLongestValue(menu);
  for (const [name, { fault, inherited }] of places) {
    const state = menu.states.get(name);
    if (state?.kind !== 'prompt' && state?.kind !== 'end') continue;
    // A list of choices breaks into pages as a menu does.
    if (state.kind === 'prompt' && state.question?.options) continue;
    const said = outcomesTo.get(name)?.flatMap(({ hint }) => hint ?? []) ?? [];
    const hints = state.kind === 'end' ? [undefined] : hintsFor(menu, state, said);
    for (const [language, texts] of menu.locales) {
      for (const hint of hints) {
        const named = [state.text, hint ?? ''].flatMap((key) => placeholdersOf(texts.get(key) ?? ''));
        const fits = (isWide: boolean) => {
          const values = Object.fromEntries(named.map((value) => [value, longestValue(value, language, isWide)]));
          const dialogue: Dialogue = { state: name, stack: [name], page: 0, values, secrets: {}, language };
          return countPages(menu, { ...dialogue, hint }) === 1;
        };
        const what = hint === undefined ? `the text ${state.text}` : `the question ${state.text} with the hint ${hint}`;
        const wide = `takes two screens in ${language} where a name is in another script`;
        if (!fits(false)) faults.push(fault(['text'], short(what, language)));
        else if (!inherited && !fits(true)) warnings.push(fault(['text'], `${what} ${wide}`));
      }
    }
  }
  return { faults, warnings };
}

function hintsFor({ registry, locales }: Menu, { question, validator = '' }: PromptState, more: string[]): string[] {
  const own = question ? hintsOf(question) : (registry.validators[validator]?.hints ?? []);
  const [texts] = locales.values();
  return [...new Set(['hint.empty', ...(registry.hints ?? []), ...own, ...more])].filter((key) => texts?.has(key));
}

function createLongestValue(menu: Menu) {
  const written = [...menu.states.values()].flatMap((state) => {
    const { gives, longest } = kindOf(state);
    const given = longest ? Array.from(gives?.(state, menu) ?? [], ([name]) => name) : [];
    return Array.from(new Set(given), (name) => ({ name, state }));
  });
  const writers = Map.groupBy(written, ({ name }) => name);
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
