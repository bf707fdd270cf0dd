import type { CheckedValues } from '../actions/keyword.ts';
import { placeholdersOf } from '../model/locales.ts';
import type { Registry } from '../model/menu.ts';
import type { LocaleFile } from '../parse/parse-locale.ts';
import type { PlacedState } from '../parse/parse-menu.ts';
import { formPlaceholders, formTexts } from '../states/form-screen.ts';
import { kindOf } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { questionTexts } from '../values/question.ts';
import { suggest } from '../values/suggest.ts';

/** Texts the engine itself shows. */
const engineTexts = ['common.more', 'common.back', 'common.exit', 'hint.empty', 'hint.choice'];

/** Shown where they exist: menus from before them say the same in English. */
const callTexts = ['main.callLow', 'main.callFull'];

/** Every text that can be shown exists in every language, with the same placeholders. */
export function checkTexts(
  states: ReadonlyMap<string, PlacedState>,
  locales: LocaleFile[],
  { registry, values }: { registry: Registry; values: CheckedValues },
): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  // Actions that no state names may say what they like.
  const named = [...states.values()].flatMap(({ state }) => (state.kind === 'action' ? state.action : []));
  const own = [...engineTexts, ...registry.texts, ...named.flatMap((name) => registry.actions[name]?.texts ?? [])];
  const used = new Set([...own, ...named.flatMap((name) => registry.actions[name]?.optionalTexts ?? [])]);
  const [first] = locales;
  if (!first) return { faults: [{ file: 'locales', line: 1, message: 'there is no locale file' }], warnings: [] };

  for (const [name, { state, file, lineOf }] of states) {
    for (const { key, path } of kindOf(state).texts?.(state, registry) ?? []) {
      if (!used.has(key)) faults.push(...checkPlaceholders(key, locales, values));
      used.add(key);
      const missing = locales.filter(({ texts }) => !texts.has(key)).map(({ language }) => language);
      if (missing.length > 0) {
        const message = `the text ${key} is missing in ${missing.join(', ')}`;
        faults.push({ file, line: lineOf(...path), state: name, message });
      }
    }
  }
  for (const key of new Set(own)) {
    for (const { file, texts } of locales) {
      if (!texts.has(key))
        faults.push({ file, line: 1, message: `the text ${key}, which the service uses, is missing` });
    }
  }
  faults.push(...checkSameKeys(locales, used));
  return { faults, warnings: findUnused(locales, used) };
}

/** A placeholder is a value that some state gives; `{x.label}` is the text of what was chosen for x. */
function checkPlaceholders(key: string, locales: LocaleFile[], { types, isOpen }: CheckedValues): Fault[] {
  if (isOpen) return [];
  const isGiven = (name: string) =>
    types.has(name) ||
    types.has(name.split('.', 1)[0] ?? '') ||
    ['today', 'question.min', 'question.max', ...formPlaceholders].includes(name);
  return locales.flatMap(({ file, texts, lineOf }) =>
    placeholdersOf(texts.get(key) ?? '')
      .filter((name) => !isGiven(name))
      .map((name) => ({
        file,
        line: lineOf(key),
        message: `there is no value {${name}}${suggest(name, types.keys())}`,
      })),
  );
}

function findUnused(locales: LocaleFile[], used: ReadonlySet<string>): Fault[] {
  const reported = new Set([...used, ...questionTexts, ...formTexts, ...callTexts]);
  return locales.flatMap(({ file, texts, inherited, lineOf }) =>
    [...texts.keys()].flatMap((key) => {
      if (reported.has(key) || inherited?.has(key)) return [];
      reported.add(key);
      return [{ file, line: lineOf(key), message: `the text ${key} is not used` }];
    }),
  );
}

/** A text that is used has the same placeholders in every language. Missing ones were reported where they are used. */
function checkSameKeys(locales: LocaleFile[], used: ReadonlySet<string>): Fault[] {
  const faults: Fault[] = [];
  const all = new Map(locales.flatMap((locale) => Array.from(locale.texts.keys(), (key) => [key, locale] as const)));
  for (const [key, source] of all) {
    if (!used.has(key)) continue;
    const wanted = placeholdersOf(source.texts.get(key) ?? '')
      .sort()
      .join();
    for (const { file, texts, lineOf } of locales) {
      const text = texts.get(key);
      if (text === undefined) continue;
      if (text === '') {
        faults.push({ file, line: lineOf(key), message: `the text ${key} is empty` });
      } else if (placeholdersOf(text).sort().join() !== wanted) {
        const message = `the text ${key} has other placeholders than in ${source.file}:${source.lineOf(key)}`;
        faults.push({ file, line: lineOf(key), message });
      }
    }
  }
  return faults;
}
