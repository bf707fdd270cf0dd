import type { Dialogue } from '../model/dialogue.ts';
import type { FormReply, FormSource, Submission } from '../model/form-protocol.ts';
import type { Menu } from '../model/menu.ts';
import { examineScreen } from './examine-screen.ts';

export type ShownForm = Extract<FormReply, { kind: 'screen' }>;

/** A form that the explorer comes to. */
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
  /** Questions that were shown, without the numbers of repeats. */
  seen: Set<string>;
  faults: string[];
}

export interface ExploreOptions {
  menu: Menu;
  language: string;
  /** Fills a form in several times, each time differently. */
  fillForm(form: FormToExplore): Promise<FormExploration>;
  /** Answers of recorded dialogues, tried where they fit. */
  samples: readonly string[];
  /** Texts that match a pattern, the same ones at every walk. */
  textsMatching(pattern: string): readonly string[];
  /** Lets the host do other work: a walk hardly ever waits for anything. */
  pause(): Promise<void>;
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

export interface Place {
  dialogue: Dialogue;
  typed: readonly string[];
}

/** One walk through a program in one language, with what it has found so far. */
export interface Walk extends ExploreOptions {
  result: Exploration;
  isOver(): boolean;
  /** The same message about the same state is kept once. */
  fault(place: Place, message: string): void;
  examine(place: Place): void;
}

/** The number that dials. */
export const phoneNumber = '+254700000001';

export function createWalk(options: ExploreOptions): Walk {
  const result: Exploration = {
    faults: [],
    notes: [],
    reached: new Set(),
    ways: new Map(),
    forms: new Map(),
    steps: 0,
    isComplete: true,
  };
  const fault = (place: Place, message: string) => keep(result.faults, place, message);
  return {
    ...options,
    result,
    isOver: () => result.steps >= options.maxSteps || Date.now() > options.until,
    fault,
    examine: (place) =>
      examineScreen(options.menu, place.dialogue, {
        fault: (message) => fault(place, message),
        note: (message) => keep(result.notes, place, message),
      }),
  };
}

function keep(list: Finding[], { dialogue: { state }, typed }: Place, message: string): void {
  if (!list.some((other) => other.state === state && other.message === message)) list.push({ state, message, typed });
}
