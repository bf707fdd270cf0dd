import {
  type Dialogue,
  type FormSnapshot,
  type FormSource,
  type ShownForm,
  type Step,
  type Submission,
  toInput,
} from '../model/dialogue.ts';
import { placeholdersOf } from '../model/locales.ts';
import { type Menu, resumeTarget } from '../model/menu.ts';
import { type Opening, openDialogue, takeFormReply, takeInput, takeResult, toFormSnapshot } from '../run/engine.ts';
import { measure } from '../show/lay-out.ts';
import { backKeyOf, canGoBack, countPages, renderScreen } from '../show/render.ts';
import { nextOf, reach } from '../states/states.ts';
import { reservedKeys } from '../values/keys.ts';
import { inputsFor, type Known, type Place, phoneNumber, readConstants, resultsOf } from './made-up.ts';

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

export interface ExploreOptions extends Omit<Known, 'constants'> {
  language: string;
  fillForm(form: FormToExplore): Promise<FormExploration>;
  /** Lets the host do other work, since a walk hardly ever waits. */
  pause(): Promise<void>;
  maxSteps: number;
  until: number;
  onProgress?: (soFar: Exploration) => void;
}

interface Finding {
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

const progressMs = 1_000;

/** Tries every option and outcome and several answers to every question, new screens first. Runs no actions. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const walk = createWalk(options);
  const { menu, language, result } = walk;
  const begin = (opening: Omit<Opening, 'language'> = {}) => {
    const { dialogue } = openDialogue(menu, { language, ...opening }, { phoneNumber, now: Date.now() });
    addPlace(walk, { dialogue, typed: [] });
  };
  begin();
  begin({ isNewcomer: true });
  let canResume = [...menu.states.values()].some((state) => nextOf(state).includes(resumeTarget));
  let reportAt = Date.now() + progressMs;
  for (;;) {
    if (Date.now() > reportAt) {
      options.onProgress?.(result);
      reportAt = Date.now() + progressMs;
      await options.pause();
    }
    const place = walk.fresh.pop() ?? walk.others.shift();
    if (place && walk.isOver()) {
      result.isComplete = false;
      break;
    }
    if (place) {
      await pressAll(walk, place);
    } else if (canResume && walk.snapshot) {
      canResume = false;
      begin({ resume: walk.snapshot });
    } else break;
  }
  for (const [state, { place, tried }] of walk.unanswered)
    if (!walk.answered.has(state))
      walk.fault(place, `accepts none of ${tried} answers; record a dialogue in flows/ that answers it`);
  return result;
}

function addPlace(walk: Walk, place: Place, from?: string): void {
  const { menu, result, known } = walk;
  const { dialogue } = place;
  const { state } = dialogue;
  if (from !== undefined) result.ways.set(from, (result.ways.get(from) ?? new Set()).add(state));
  const isNew = !result.reached.has(state);
  result.reached.add(state);
  walk.snapshot ??= toFormSnapshot(menu, dialogue);
  const key = keyOf(walk, dialogue);
  if (known.has(key)) return;
  known.add(key);
  walk.examine(place);
  (isNew ? walk.fresh : walk.others).push(place);
}

async function pressAll(walk: Walk, place: Place): Promise<void> {
  beginPress(place);
  const { menu } = walk;
  const { dialogue } = place;
  const state = menu.states.get(dialogue.state);
  if (!state || state.kind === 'end') return;
  const at = { ...place, dialogue: { ...dialogue, page: countPages(menu, dialogue) - 1 } };
  const { taken, refused, tried } = inputsFor(walk, at);
  if (state.kind === 'prompt') {
    if (taken.length > 0) walk.answered.add(dialogue.state);
    else walk.unanswered.set(dialogue.state, { place, tried });
  }
  if (state.kind === 'menu' && taken.length === 0) walk.fault(place, 'shows no option: nothing leads on from here');
  for (const input of taken) await press(walk, at, { input, isKept: true });
  for (const input of refused) await press(walk, place, { input });
  if (canGoBack(menu, dialogue)) await press(walk, place, { input: backKeyOf(menu, state, dialogue) });
  await press(walk, place, { input: reservedKeys.exit, isKept: true });
}

async function press(walk: Walk, place: Place, { input, isKept }: { input: string; isKept?: true }): Promise<void> {
  walk.result.steps++;
  beginPress(place);
  const typed = [...place.typed, input];
  try {
    const step = takeInput(walk.menu, place.dialogue, toInput(typed, place.typed.length));
    if (isKept) for (const next of await settle(walk, { step, typed })) addPlace(walk, next, place.dialogue.state);
    else if (!step.pending && !step.form) walk.examine({ dialogue: step.dialogue, typed });
  } catch (error) {
    walk.fault({ ...place, typed }, `fails: ${(error as Error).message}`);
  }
}

function beginPress({ dialogue: { caller } }: Place): void {
  if (caller) caller.budget = undefined;
}

/** Only the values that expressions use matter, and which of the values on the screen are missing. */
function keyOf({ menu, watched }: Walk, dialogue: Dialogue): string {
  const { state, values, account, afterLogin, frames, search, resume, isNewcomer } = dialogue;
  const seen = Object.entries(values).flatMap(([name, value]) => (watched.has(name) ? [`${name}=${value}`] : []));
  const empty = missingValues(menu, dialogue);
  const place = [state, account !== undefined, afterLogin?.state, search, resume !== undefined, isNewcomer];
  return [...place, JSON.stringify(frames), ...empty, ...seen.sort()].join('\0');
}

const maxActions = 10;

async function settle(
  walk: Walk,
  { step, typed }: { step: Step; typed: readonly string[] },
  depth = 0,
): Promise<Place[]> {
  const { menu, result } = walk;
  const { dialogue, pending, form } = step;
  const place = { dialogue, typed };
  if (!pending && !form) return [place];
  result.reached.add(dialogue.state);
  if (depth >= maxActions) {
    walk.fault(place, 'the actions after it do not end');
    return [];
  }
  const state = menu.states.get(dialogue.state);
  const results = state?.kind === 'action' ? resultsOf(menu, state, walk.constants) : [];
  const next = results.map((given) => takeResult(menu, dialogue, given));
  for (const submission of form ? await fillIn(walk, place) : []) {
    const done = takeFormReply(menu, dialogue, { kind: 'complete', submission });
    next.push(takeResult(menu, done.dialogue, { outcome: 'submitted', values: { ...submission.values } }));
  }
  const places = [];
  for (const each of next) places.push(...(await settle(walk, { step: each, typed }, depth + 1)));
  return places;
}

async function fillIn(walk: Walk, { dialogue, typed }: Place): Promise<Submission[]> {
  const { menu, result } = walk;
  const state = menu.states.get(dialogue.state);
  const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
  if (state?.kind !== 'form' || !source) return [];
  const before = result.forms.get(dialogue.state);
  if (before) return before.submissions;
  const done = await walk.fillForm({
    source,
    language: walk.language,
    phoneNumber,
    take: state.take,
    samples: walk.samples,
    isOver: walk.isOver,
    see({ screen, progress }) {
      result.steps++;
      const form = { state: dialogue.state, progress, screen };
      walk.examine({ dialogue: { ...dialogue, page: 0, form }, typed });
    },
  });
  result.forms.set(dialogue.state, done);
  for (const message of done.faults) walk.fault({ dialogue, typed }, message);
  return done.submissions;
}

/** Groups of screens that lead only to each other: nothing but Back and Exit leads out of them. */
export function findCircles({ states, start, exit }: Menu, ways: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const onward = (name: string) => [...(ways.get(name) ?? [])].filter((to) => to !== exit);
  const isEnd = (name: string) => {
    const kind = states.get(name)?.kind;
    return name === start || kind === 'end' || kind === 'page' || onward(name).length === 0;
  };
  const circles: string[][] = [];
  const seen = new Set<string>();
  for (const name of ways.keys()) {
    if (seen.has(name) || isEnd(name)) continue;
    const group = reach([name], onward);
    if ([...group].some(isEnd)) continue;
    for (const each of group) seen.add(each);
    circles.push([...group]);
  }
  return circles;
}

type Walk = ReturnType<typeof createWalk>;

function createWalk(options: ExploreOptions) {
  const { menu, maxSteps, until } = options;
  const result = createExploration();
  return {
    ...options,
    result,
    constants: readConstants(menu.expressions.keys()),
    watched: new Set([...menu.expressions.values()].flatMap(({ names }) => names)),
    known: new Set<string>(),
    fresh: [] as Place[],
    others: [] as Place[],
    snapshot: undefined as FormSnapshot | undefined,
    // With some values a question may have no answer. It is a fault if it never has one.
    answered: new Set<string>(),
    unanswered: new Map<string, { place: Place; tried: number }>(),
    isOver: () => result.steps >= maxSteps || Date.now() > until,
    fault: (place: Place, message: string) => keep(result.faults, place, message),
    examine: (place: Place) => examineScreen(menu, place, result),
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

function missingValues(menu: Menu, { state, language, values }: Dialogue): string[] {
  const shown = menu.states.get(state);
  if (!shown || !('text' in shown)) return [];
  return placeholdersOf(menu.locales.get(language)?.get(shown.text) ?? '').filter((name) => {
    const [head = ''] = name.split('.');
    return values[name] === undefined && values[head] === undefined;
  });
}

function keep(list: Finding[], { dialogue: { state }, typed }: Place, message: string): void {
  if (!list.some((other) => other.state === state && other.message === message)) list.push({ state, message, typed });
}
