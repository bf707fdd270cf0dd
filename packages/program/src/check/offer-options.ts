import { type Option, type Registry, resumeTarget, type State } from '../model/menu.ts';
import type { LocaleFile } from '../parse/parse-locale.ts';
import type { PlacedState } from '../parse/parse-menu.ts';
import type { MenuState } from '../states/menu.ts';
import { targetsOf } from '../states/states.ts';

type States = ReadonlyMap<string, PlacedState>;

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
export function offerOptions(states: States, offered: Offered): States {
  const { start, locales } = offered;
  const first = states.get(start);
  if (first?.state.kind !== 'menu' || first.state.from) return states;
  const has = (...texts: string[]) => locales.every((locale) => texts.every((text) => locale.texts.has(text)));
  // A newcomer has left nothing unfinished: the two may have the same key.
  const shown = first.state.options.filter(({ when }) => when !== 'resumable' && when !== 'newcomer');
  const key = String(Math.max(0, ...shown.map((option) => Number(option.key))) + 1);
  if (Number(key) > highestKey) return states;
  const added: Option[] = [];
  if (has('main.resume') && !offersResume(states))
    added.push({ key, text: 'main.resume', to: resumeTarget, when: 'resumable' });
  const languages = has('main.language', 'language.title', 'language.done') ? toLanguageStates(offered) : undefined;
  const isOffered = languages && has(...languages.menu.options.map(({ text }) => text)) && !offersLanguage(states);
  if (isOffered) added.push({ key, text: 'main.language', to: languageState, when: 'newcomer' });
  const place = (state: State): PlacedState => ({ ...first, state, inherited: true });
  return new Map([
    ...states,
    [start, { ...first, state: { ...first.state, options: [...first.state.options, ...added] } }],
    ...(isOffered
      ? ([
          [languageState, place(languages.menu)],
          [languageAction, place(languages.action)],
        ] as const)
      : []),
  ]);
}

function offersResume(states: States): boolean {
  return [...states.values()].some(({ state }) => targetsOf(state).some(({ to }) => to === resumeTarget));
}

/** What it extends asks for the language in the account menu, which a newcomer does not see. */
function offersLanguage(states: States): boolean {
  return [...states].some(
    ([name, { state, inherited }]) =>
      [languageState, languageAction].includes(name) ||
      (!inherited && state.kind === 'action' && state.action === 'setLanguage') ||
      ('options' in state && state.options.some(({ when }) => when === 'newcomer')),
  );
}

function toLanguageStates({ start, locales, registry }: Offered) {
  if (locales.length < 2 || !Object.hasOwn(registry.actions, 'setLanguage')) return undefined;
  const options = locales.map(({ language }, i) => ({
    key: String(i + 1),
    text: `language.${language}`,
    to: languageAction,
    set: { language },
  }));
  const menu: MenuState = { kind: 'menu', text: 'language.title', back: true, options };
  const outcomes = { changed: { to: start, hint: 'language.done' } };
  return { menu, action: { kind: 'action', action: 'setLanguage', outcomes } satisfies State };
}
