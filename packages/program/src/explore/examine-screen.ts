import type { Dialogue } from '../model/dialogue.ts';
import { placeholdersOf } from '../model/locales.ts';
import type { Menu } from '../model/menu.ts';
import { measure } from '../show/lay-out.ts';
import { countPages, renderScreen } from '../show/render.ts';

export interface Report {
  fault(message: string): void;
  note(message: string): void;
}

const manyPages = 9;

/** Every page of a screen fits a phone, says something, and has the values that it names. */
export function examineScreen(menu: Menu, dialogue: Dialogue, { fault, note }: Report): void {
  const state = menu.states.get(dialogue.state);
  const pages = countPages(menu, dialogue);
  for (let page = 0; page < pages; page++) {
    const { text } = renderScreen(menu, { ...dialogue, page });
    const { limit, cost } = measure([text]);
    const length = cost(text);
    if (length > limit) fault(`the screen has ${length} characters; ${limit} fit`);
  }
  if (renderScreen(menu, dialogue).text.trim() === '') fault('the screen is empty');
  if (state?.kind === 'prompt' && !state.question?.options && pages > 1)
    fault('the question does not fit one screen with these values');
  if (state?.kind === 'end' && pages > 1) note(`the closing text takes ${pages} screens with these values`);
  if (pages > manyPages) note(`takes ${pages} screens`);
  for (const name of missingValues(menu, dialogue)) note(`{${name}} is empty here`);
}

/** What the text of the screen names and nobody has given. */
export function missingValues(menu: Menu, { state, language, values }: Dialogue): string[] {
  const shown = menu.states.get(state);
  if (!shown || !('text' in shown)) return [];
  return placeholdersOf(menu.locales.get(language)?.get(shown.text) ?? '').filter((name) => {
    const [head = ''] = name.split('.');
    return values[name] === undefined && values[head] === undefined;
  });
}
