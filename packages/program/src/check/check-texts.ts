import type { CheckedValues } from '../actions/keyword.ts';
import { placeholdersOf } from '../model/locales.ts';
import { type Option, type Registry, resumeTarget, type State } from '../model/menu.ts';
import type { LocaleFile, PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { formPlaceholders, formTexts } from '../states/form.ts';
import { kindOf, targetsOf } from '../states/states.ts';
import { type Fault, suggest } from '../values/fault.ts';
import { questionTexts } from '../values/question.ts';

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
  if (locales.length === 0)
    return {
      faults: [{ file: 'locales', line: 1, message: 'there is no file of texts: add one such as locales/en.yaml' }],
      warnings: [],
    };

  for (const { state, fault } of states.values()) {
    for (const { key, path } of kindOf(state).texts?.(state, registry) ?? []) {
      if (!used.has(key)) faults.push(...checkPlaceholders(key, locales, values));
      used.add(key);
      const missing = locales.filter(({ texts }) => !texts.has(key)).map(({ language }) => language);
      if (missing.length > 0) faults.push(fault(path, `the text ${key} is missing in ${missing.join(', ')}`));
    }
  }
  for (const key of new Set(own)) {
    for (const { file, texts } of locales) {
      if (!texts.has(key))
        faults.push({ file, line: 1, message: `the text ${key}, which the service uses, is missing: add it` });
    }
  }
  faults.push(...checkSameKeys(locales, used));
  const { optionalTexts = [], hints = [], closings = [] } = registry;
  return { faults, warnings: findUnused(locales, [...used, ...optionalTexts, ...hints, ...closings]) };
}

/** A placeholder is a value that some state gives; `{x.label}` is the text of what was chosen for x. */
function checkPlaceholders(key: string, locales: LocaleFile[], { types, isOpen }: CheckedValues): Fault[] {
  if (isOpen) return [];
  const isGiven = (name: string) =>
    types.has(name) ||
    types.has(name.split('.', 1)[0] ?? '') ||
    ['today', 'question.min', 'question.max', ...formPlaceholders].includes(name);
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
  const has = (texts: string[]) => locales.every((locale) => texts.every((text) => locale.texts.has(text)));
  // A newcomer has left nothing unfinished: the two may have the same key.
  const shown = first.state.options.filter(({ when }) => when !== 'resumable' && when !== 'newcomer');
  const key = String(Math.max(0, ...shown.map((option) => Number(option.key))) + 1);
  if (Number(key) > highestKey) return states;
  const added: Option[] = [];
  const offersResume = [...states.values()].some(({ state }) => targetsOf(state).some(({ to }) => to === resumeTarget));
  if (has(['main.resume']) && !offersResume)
    added.push({ key, text: 'main.resume', to: resumeTarget, when: 'resumable' });
  const languages = locales.map(({ language }, i): Option => {
    return { key: String(i + 1), text: `language.${language}`, to: languageAction, set: { language } };
  });
  const texts = ['main.language', 'language.title', 'language.done', ...languages.map(({ text }) => text)];
  const isChoice = languages.length > 1 && Object.hasOwn(registry.actions, 'setLanguage');
  const isOffered = isChoice && has(texts) && !offersLanguage(states);
  if (isOffered) added.push({ key, text: 'main.language', to: languageState, when: 'newcomer' });
  const place = (name: string, state: State): [string, PlacedState][] =>
    isOffered ? [[name, { ...first, state, inherited: true }]] : [];
  const outcomes = { changed: { to: start, hint: 'language.done' } };
  return new Map([
    ...states,
    [start, { ...first, state: { ...first.state, options: [...first.state.options, ...added] } }],
    ...place(languageState, { kind: 'menu', text: 'language.title', back: true, options: languages }),
    ...place(languageAction, { kind: 'action', action: 'setLanguage', outcomes }),
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
