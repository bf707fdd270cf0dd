import { type Option, type Registry, resumeTarget, type State } from '../model/menu.ts';
import type { LocaleFile } from '../parse/parse-locale.ts';
import type { PlacedState, PlacedStates } from '../parse/parse-menu.ts';
import { targetsOf } from '../states/states.ts';

export interface Offered {
  start: string;
  locales: readonly LocaleFile[];
  registry: Registry;
}

/** Below the key of More. */
const highestKey = 97;
const [languageState, languageAction] = ['firstLanguage', 'setFirstLanguage'];

/**
 * What a program need not write itself: an option to continue a call that had no room for more input, and one to choose the
 * language at the first dial. Both are at the end of its first menu, where the program has the texts and no such option.
 */
export function offerOptions(states: PlacedStates, { start, locales, registry }: Offered): PlacedStates {
  const first = states.get(start);
  if (first?.state.kind !== 'menu' || first.state.from) return states;
  const has = (texts: string[]) => locales.every((locale) => texts.every((text) => locale.texts.has(text)));
  // A newcomer has left nothing unfinished: the two may have the same key.
  const shown = first.state.options.filter(({ when }) => when !== 'resumable' && when !== 'newcomer');
  const key = String(Math.max(0, ...shown.map((option) => Number(option.key))) + 1);
  if (Number(key) > highestKey) return states;
  const added: Option[] = [];
  if (has(['main.resume']) && !offersResume(states))
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

function offersResume(states: PlacedStates): boolean {
  return [...states.values()].some(({ state }) => targetsOf(state).some(({ to }) => to === resumeTarget));
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
