import { type Dialogue, type FormSnapshot, type Step, type Submission, toInput } from '../model/dialogue.ts';
import { type Menu, resumeTarget } from '../model/menu.ts';
import { type Opening, openDialogue, takeFormReply, takeInput, takeResult, toFormSnapshot } from '../run/engine.ts';
import { backKeyOf, canGoBack, countPages } from '../show/render.ts';
import { reach, targetsOf } from '../states/states.ts';
import { reservedKeys } from '../values/keys.ts';
import { inputsFor, resultsOf } from './made-up.ts';
import {
  createWalk,
  type Exploration,
  type ExploreOptions,
  missingValues,
  type Place,
  phoneNumber,
  type Walk,
} from './walk.ts';

const progressMs = 1_000;

/** Tries every option and outcome and several answers to every question, new screens first. Runs no actions. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const walk = createWalk(options);
  const { menu, language, result } = walk;
  const places = createPlaces(walk);
  const presser = createPresser(walk, places);
  const begin = (opening: Omit<Opening, 'language'> = {}) => {
    const { dialogue } = openDialogue(menu, { language, ...opening }, { phoneNumber, now: Date.now() });
    places.add({ dialogue, typed: [] });
  };
  begin();
  begin({ isNewcomer: true });
  let hasResumed = ![...menu.states.values()].some((state) => targetsOf(state).some(({ to }) => to === resumeTarget));
  let reportAt = Date.now() + progressMs;
  for (;;) {
    if (Date.now() > reportAt) {
      options.onProgress?.(result);
      reportAt = Date.now() + progressMs;
      await options.pause();
    }
    const place = places.next();
    const snapshot = places.snapshot();
    if (place && walk.isOver()) {
      result.isComplete = false;
      break;
    }
    if (place) {
      await presser.pressAll(place);
    } else if (!hasResumed && snapshot) {
      hasResumed = true;
      begin({ resume: snapshot });
    } else break;
  }
  presser.reportUnanswered();
  return result;
}

type Places = ReturnType<typeof createPlaces>;

function createPlaces(walk: Walk) {
  const { menu, result } = walk;
  const watched = new Set([...menu.expressions.values()].flatMap(({ names }) => names));
  const known = new Set<string>();
  const [fresh, others]: [Place[], Place[]] = [[], []];
  let snapshot: FormSnapshot | undefined;
  return {
    add(place: Place, from?: string): void {
      const { dialogue } = place;
      if (from !== undefined) result.ways.set(from, (result.ways.get(from) ?? new Set()).add(dialogue.state));
      const isNew = !result.reached.has(dialogue.state);
      result.reached.add(dialogue.state);
      snapshot ??= toFormSnapshot(menu, dialogue);
      const key = keyOf(menu, dialogue, watched);
      if (known.has(key)) return;
      known.add(key);
      walk.examine(place);
      (isNew ? fresh : others).push(place);
    },
    next: () => fresh.pop() ?? others.shift(),
    snapshot: () => snapshot,
  };
}

function createPresser(walk: Walk, places: Places) {
  const { menu } = walk;
  // With some values a question may have no answer; it is a fault where it never has one.
  const answered = new Set<string>();
  const unanswered = new Map<string, { place: Place; tried: number }>();

  async function press(place: Place, input: string, isKept: boolean): Promise<void> {
    walk.result.steps++;
    beginPress(place);
    const typed = [...place.typed, input];
    try {
      const step = takeInput(menu, place.dialogue, toInput(typed, place.typed.length));
      if (isKept) for (const next of await settle(walk, { step, typed })) places.add(next, place.dialogue.state);
      else if (!step.pending && !step.form) walk.examine({ dialogue: step.dialogue, typed });
    } catch (error) {
      walk.fault({ ...place, typed }, `fails: ${(error as Error).message}`);
    }
  }

  return {
    async pressAll(place: Place): Promise<void> {
      beginPress(place);
      const { dialogue } = place;
      const state = menu.states.get(dialogue.state);
      if (!state || state.kind === 'end') return;
      const at = { ...place, dialogue: { ...dialogue, page: countPages(menu, dialogue) - 1 } };
      const { taken, refused, tried } = inputsFor(walk, at);
      if (state.kind === 'prompt') {
        if (taken.length > 0) answered.add(dialogue.state);
        else unanswered.set(dialogue.state, { place, tried });
      }
      if (state.kind === 'menu' && taken.length === 0) walk.fault(place, 'shows no option: nothing leads on from here');
      for (const input of taken) await press(at, input, true);
      for (const input of refused) await press(place, input, false);
      if (canGoBack(menu, dialogue)) await press(place, backKeyOf(menu, state, dialogue), false);
      await press(place, reservedKeys.exit, true);
    },
    reportUnanswered(): void {
      for (const [state, { place, tried }] of unanswered)
        if (!answered.has(state))
          walk.fault(place, `accepts none of ${tried} answers; record a dialogue in flows/ that answers it`);
    },
  };
}

function beginPress({ dialogue: { caller } }: Place): void {
  if (caller) caller.budget = undefined;
}

/** Of values, only those matter that expressions look at, and whether those are there that the screen shows. */
function keyOf(menu: Menu, dialogue: Dialogue, watched: ReadonlySet<string>): string {
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
  const next: Step[] = [];
  const state = menu.states.get(dialogue.state);
  if (form) {
    for (const submission of await fillIn(walk, place)) {
      const done = takeFormReply(menu, dialogue, { kind: 'complete', submission });
      next.push(takeResult(menu, done.dialogue, { outcome: 'submitted', values: { ...submission.values } }));
    }
  } else if (state?.kind === 'action') {
    for (const given of resultsOf(menu, state, walk.constants)) next.push(takeResult(menu, dialogue, given));
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
