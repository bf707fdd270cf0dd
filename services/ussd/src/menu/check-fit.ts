import { fitsOneScreen } from '../screen.ts';
import type { Dialogue } from './dialogue.ts';
import type { Fault } from './fault.ts';
import { placeholdersOf, translate } from './locales.ts';
import type { Menu } from './menu.ts';
import type { PlacedState } from './parse-menu.ts';
import { hintsOf } from './question.ts';
import { countPages } from './render.ts';

/** What a value filled into a text is taken to need, where the checker must guess. */
const assumedValue = 'x'.repeat(24);

/**
 * Pages break by themselves; a question and a closing message cannot: the answer `98` would be ambiguous, and after `END`
 * nothing can be asked for. Both must fit one screen in every language, a question with its longest hint.
 */
export function checkFit(menu: Menu, places: ReadonlyMap<string, PlacedState>): Fault[] {
  const faults: Fault[] = [];
  for (const [name, { file, lineOf }] of places) {
    const state = menu.states.get(name);
    if (state?.kind !== 'prompt' && state?.kind !== 'end') continue;
    // A list of choices breaks into pages as a menu does.
    if (state.kind === 'prompt' && state.question?.options) continue;
    for (const [language, texts] of menu.locales) {
      const values = Object.fromEntries(placeholdersOf(texts.get(state.text) ?? '').map((key) => [key, assumedValue]));
      const say = (what: string) =>
        faults.push({
          file,
          line: lineOf('text'),
          state: name,
          message: `${what} does not fit one screen in ${language}`,
        });
      if (state.kind === 'end') {
        if (!fitsOneScreen(translate(menu.locales, language, state.text, values))) say(`the text ${state.text}`);
        continue;
      }
      const dialogue: Dialogue = { state: name, stack: [name], page: 0, values, secrets: {}, language };
      const hints = state.question ? hintsOf(state.question) : menu.registry.validators[state.validator ?? '']?.hints;
      for (const hint of ['hint.empty', ...(hints ?? [])]) {
        if (countPages(menu, { ...dialogue, hint }) > 1) say(`the question ${state.text} with the hint ${hint}`);
      }
    }
  }
  return faults;
}
