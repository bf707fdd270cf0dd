import type { Forms } from '../forms/forms.ts';
import { type Dialogue, type FormSnapshot, toFormSnapshot } from '../menu/dialogue.ts';
import { type Opening, openDialogue, type Step, takeFormReply, takeInput, takeResult } from '../menu/engine.ts';
import { type Menu, reservedKeys, resumeTarget } from '../menu/menu.ts';
import { backKeyOf, canGoBack, countPages } from '../menu/render.ts';
import { constantsOf } from './constants.ts';
import { examineScreen, missingValues } from './examine-screen.ts';
import { exploreForm, type FormExploration } from './explore-form.ts';
import { type InputParts, inputsFor } from './inputs.ts';
import { resultsOf } from './results.ts';

export interface ExploreOptions {
  menu: Menu;
  language: string;
  forms: Pick<Forms, 'press'>;
  /** Answers of recorded dialogues, tried where they fit. */
  samples: readonly string[];
  maxSteps: number;
  /** When to stop, in milliseconds since 1970. */
  until: number;
  /** Called every second. */
  onProgress?: (soFar: Exploration) => void;
}

export interface Finding {
  state: string;
  message: string;
  /** What was typed to come there. */
  typed: readonly string[];
}

export interface Exploration {
  faults: Finding[];
  notes: Finding[];
  reached: Set<string>;
  /** From screen to screen, over whatever lies between. */
  ways: Map<string, Set<string>>;
  forms: Map<string, FormExploration>;
  steps: number;
  isComplete: boolean;
}

interface Place {
  dialogue: Dialogue;
  typed: readonly string[];
}

const phoneNumber = '+254700000001';
const maxActions = 10;
const progressMs = 1_000;

/**
 * Walks a program in one language without running its actions: every option and outcome, several answers to every
 * question, on screens that differ in what expressions look at. What nobody has seen yet comes first.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { menu, language, maxSteps, until } = options;
  const constants = constantsOf(menu);
  const parts: InputParts = { menu, constants, samples: options.samples, phoneNumber };
  const result: Exploration = {
    faults: [],
    notes: [],
    reached: new Set(),
    ways: new Map(),
    forms: new Map(),
    steps: 0,
    isComplete: true,
  };
  const watched = new Set([...menu.expressions.values()].flatMap(({ names }) => names));
  const known = new Set<string>();
  const [fresh, others]: [Place[], Place[]] = [[], []];
  // With some values a question may have no answer; it is a fault where it never has one.
  const answered = new Set<string>();
  const unanswered = new Map<string, { place: Place; tried: number }>();
  let snapshot: FormSnapshot | undefined;
  const isOver = () => result.steps >= maxSteps || Date.now() > until;
  const report = (list: Finding[]) => (place: Place) => (message: string) => {
    const { state } = place.dialogue;
    if (!list.some((other) => other.state === state && other.message === message))
      list.push({ state, message, typed: place.typed });
  };
  const [fault, note] = [report(result.faults), report(result.notes)];

  function arrive(place: Place, from?: string): void {
    const { dialogue } = place;
    if (from !== undefined) result.ways.set(from, (result.ways.get(from) ?? new Set()).add(dialogue.state));
    const isNew = !result.reached.has(dialogue.state);
    result.reached.add(dialogue.state);
    snapshot ??= toFormSnapshot(menu, dialogue);
    const key = keyOf(menu, dialogue, watched);
    if (known.has(key)) return;
    known.add(key);
    examineScreen(menu, dialogue, { fault: fault(place), note: note(place) });
    (isNew ? fresh : others).push(place);
  }

  /** All the ways on from a step that waits for an action or a form. */
  async function settle(step: Step, typed: readonly string[], depth = 0): Promise<Place[]> {
    const { dialogue, pending, form } = step;
    const place = { dialogue, typed };
    if (!pending && !form) return [place];
    result.reached.add(dialogue.state);
    if (depth >= maxActions) {
      fault(place)('the actions after it do not end');
      return [];
    }
    const next: Step[] = [];
    const state = menu.states.get(dialogue.state);
    if (form) {
      for (const submission of await fillIn(dialogue, place)) {
        const done = takeFormReply(menu, dialogue, { kind: 'complete', submission });
        next.push(takeResult(menu, done.dialogue, { outcome: 'submitted', values: { ...submission.values } }));
      }
    } else if (state?.kind === 'action') {
      for (const given of resultsOf(menu, state, constants)) next.push(takeResult(menu, dialogue, given));
    }
    const places = [];
    for (const each of next) places.push(...(await settle(each, typed, depth + 1)));
    return places;
  }

  async function fillIn(dialogue: Dialogue, place: Place) {
    const state = menu.states.get(dialogue.state);
    const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
    if (state?.kind !== 'form' || !source) return [];
    const before = result.forms.get(dialogue.state);
    if (before) return before.submissions;
    const done = await exploreForm({
      forms: options.forms,
      source,
      language,
      phoneNumber,
      take: state.take,
      samples: options.samples,
      isOver,
      see({ screen, progress }) {
        result.steps++;
        const open = { ...dialogue, page: 0, form: { state: dialogue.state, progress, screen } };
        examineScreen(menu, open, { fault: fault(place), note: note(place) });
      },
    });
    result.forms.set(dialogue.state, done);
    for (const message of done.faults) fault(place)(message);
    return done.submissions;
  }

  async function press(place: Place, input: string, isKept: boolean): Promise<void> {
    result.steps++;
    beginPress(place);
    const typed = [...place.typed, input];
    const { state } = place.dialogue;
    try {
      const step = takeInput(menu, place.dialogue, {
        value: input,
        part: place.typed.length,
        parts: typed,
        phoneNumber,
      });
      for (const next of isKept ? await settle(step, typed) : [{ dialogue: step.dialogue, typed }]) {
        if (isKept) arrive(next, state);
        else if (!step.pending && !step.form)
          examineScreen(menu, next.dialogue, { fault: fault(next), note: note(next) });
      }
    } catch (error) {
      fault({ ...place, typed })(`fails: ${(error as Error).message}`);
    }
  }

  /** All places share one caller, who has the budget of one key press. */
  function beginPress({ dialogue: { caller } }: Place): void {
    if (caller) caller.budget = undefined;
  }

  async function expand(place: Place): Promise<void> {
    beginPress(place);
    const state = menu.states.get(place.dialogue.state);
    if (!state || state.kind === 'end') return;
    const at = { ...place, dialogue: { ...place.dialogue, page: countPages(menu, place.dialogue) - 1 } };
    const { taken, refused, tried } = inputsFor(parts, at.dialogue, place.typed);
    if (state.kind === 'prompt') {
      if (taken.length > 0) answered.add(place.dialogue.state);
      else unanswered.set(place.dialogue.state, { place, tried });
    }
    if (state.kind === 'menu' && taken.length === 0) fault(place)('shows no option: nothing leads on from here');
    for (const input of taken) await press(at, input, true);
    for (const input of refused) await press(place, input, false);
    if (canGoBack(menu, place.dialogue)) await press(place, backKeyOf(menu, state, place.dialogue), false);
    await press(place, reservedKeys.exit, true);
  }

  const begin = (opening: Omit<Opening, 'language'> = {}) => {
    const opened = openDialogue(menu, { language, ...opening }, { phoneNumber, now: Date.now() });
    arrive({ dialogue: opened.dialogue, typed: [] });
  };
  begin();
  begin({ isNewcomer: true });
  let hasResumed = ![...menu.states.values()].some(
    (state) => 'options' in state && state.options?.some((option) => 'to' in option && option.to === resumeTarget),
  );
  let reportAt = Date.now() + progressMs;
  for (;;) {
    if (Date.now() > reportAt) {
      options.onProgress?.(result);
      reportAt = Date.now() + progressMs;
      // The walk hardly ever waits for anything; this lets the terminal be written.
      await new Promise(setImmediate);
    }
    const place = fresh.pop() ?? others.shift();
    if (!place) {
      if (hasResumed || !snapshot) break;
      hasResumed = true;
      begin({ resume: snapshot });
      continue;
    }
    if (isOver()) {
      result.isComplete = false;
      break;
    }
    await expand(place);
  }
  for (const [state, { place, tried }] of unanswered)
    if (!answered.has(state))
      fault(place)(`accepts none of ${tried} answers; record a dialogue in flows/ that answers it`);
  return result;
}

/** Of values, only those matter that expressions look at, and whether those are there that the screen shows. */
function keyOf(menu: Menu, dialogue: Dialogue, watched: ReadonlySet<string>): string {
  const { state, values, account, afterLogin, frames, search, resume, isNewcomer } = dialogue;
  const seen = Object.entries(values).flatMap(([name, value]) => (watched.has(name) ? [`${name}=${value}`] : []));
  const empty = missingValues(menu, dialogue);
  const place = [state, account !== undefined, afterLogin?.state, search, resume !== undefined, isNewcomer];
  return [...place, JSON.stringify(frames), ...empty, ...seen.sort()].join('\0');
}
