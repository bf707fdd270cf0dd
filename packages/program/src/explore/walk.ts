import type { Dialogue, FormReply, FormSource, Submission } from '../model/dialogue.ts';
import { placeholdersOf } from '../model/locales.ts';
import type { Menu } from '../model/menu.ts';
import { measure } from '../show/lay-out.ts';
import { countPages, renderScreen } from '../show/render.ts';

export type ShownForm = Extract<FormReply, { kind: 'screen' }>;

export interface FormToExplore {
  source: FormSource;
  language: string;
  phoneNumber: string;
  take: Readonly<Record<string, string>>;
  samples: readonly string[];
  see(shown: ShownForm): void;
  isOver(): boolean;
}

export interface FormExploration {
  submissions: Submission[];
  seen: Set<string>;
  faults: string[];
}

export interface ExploreOptions {
  menu: Menu;
  language: string;
  fillForm(form: FormToExplore): Promise<FormExploration>;
  samples: readonly string[];
  textsMatching(pattern: string): readonly string[];
  /** Lets the host do other work: a walk hardly ever waits for anything. */
  pause(): Promise<void>;
  maxSteps: number;
  until: number;
  onProgress?: (soFar: Exploration) => void;
}

export interface Finding {
  state: string;
  message: string;
  typed: readonly string[];
}

const createExploration = () => ({
  faults: [] as Finding[],
  notes: [] as Finding[],
  reached: new Set<string>(),
  ways: new Map<string, Set<string>>(),
  forms: new Map<string, FormExploration>(),
  steps: 0,
  isComplete: true,
});
export type Exploration = ReturnType<typeof createExploration>;

export interface Place {
  dialogue: Dialogue;
  typed: readonly string[];
}

export const phoneNumber = '+254700000001';

export type Walk = ReturnType<typeof createWalk>;

export function createWalk(options: ExploreOptions) {
  const result = createExploration();
  return {
    ...options,
    result,
    constants: readConstants(options.menu.expressions.keys()),
    isOver: () => result.steps >= options.maxSteps || Date.now() > options.until,
    fault: (place: Place, message: string) => keep(result.faults, place, message),
    examine: (place: Place) => examineScreen(options.menu, place, result),
  };
}

const manyPages = 9;

function examineScreen(menu: Menu, place: Place, { faults, notes }: Exploration): void {
  const { dialogue } = place;
  const state = menu.states.get(dialogue.state);
  const pages = countPages(menu, dialogue);
  const fault = (message: string) => keep(faults, place, message);
  const note = (message: string) => keep(notes, place, message);
  for (let page = 0; page < pages; page++) {
    const { text } = renderScreen(menu, { ...dialogue, page });
    const { limit, cost } = measure([text]);
    if (cost(text) > limit) fault(`the screen has ${cost(text)} characters; ${limit} fit`);
  }
  if (renderScreen(menu, dialogue).text.trim() === '') fault('the screen is empty');
  if (state?.kind === 'prompt' && !state.question?.options && pages > 1)
    fault('the question does not fit one screen with these values');
  if (state?.kind === 'end' && pages > 1) note(`the closing text takes ${pages} screens with these values`);
  if (pages > manyPages) note(`takes ${pages} screens`);
  for (const name of missingValues(menu, dialogue)) note(`{${name}} is empty here`);
}

export function missingValues(menu: Menu, { state, language, values }: Dialogue): string[] {
  const shown = menu.states.get(state);
  if (!shown || !('text' in shown)) return [];
  return placeholdersOf(menu.locales.get(language)?.get(shown.text) ?? '').filter((name) => {
    const [head = ''] = name.split('.');
    return values[name] === undefined && values[head] === undefined;
  });
}

/** The same message about the same state is kept once. */
function keep(list: Finding[], { dialogue: { state }, typed }: Place, message: string): void {
  if (!list.some((other) => other.state === state && other.message === message)) list.push({ state, message, typed });
}

/** What the expressions of a program compare with: answers on both sides of each are worth trying. */
export interface Constants {
  numbers: readonly number[];
  texts: readonly string[];
}

const most = 12;

export function readConstants(sources: Iterable<string>): Constants {
  const numbers = new Set<number>();
  const texts = new Set<string>();
  for (const source of sources) {
    for (const [, text = ''] of source.matchAll(/["']([^"'\\]{1,40})["']/g)) texts.add(text);
    for (const [number] of source.replace(/["'][^"']*["']/g, '').matchAll(/(?<![\w.])\d{1,9}(?:\.\d+)?/g))
      numbers.add(Number(number));
  }
  return { numbers: [...numbers].slice(0, most), texts: [...texts].slice(0, most) };
}

export function around(numbers: readonly number[]): string[] {
  return numbers.flatMap((number) => [number, number + 1, number - 1].map(String));
}
