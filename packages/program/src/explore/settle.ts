import type { Step } from '../model/dialogue.ts';
import { takeFormReply, takeResult } from '../run/engine.ts';
import type { Constants } from './constants.ts';
import { resultsOf } from './results.ts';
import { type Place, phoneNumber, type Walk } from './walk.ts';

const maxActions = 10;

/** Every place to which a step leads that waits for an action or a form. */
export async function settle(
  walk: Walk,
  constants: Constants,
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
    for (const given of resultsOf(menu, state, constants)) next.push(takeResult(menu, dialogue, given));
  }
  const places = [];
  for (const each of next) places.push(...(await settle(walk, constants, { step: each, typed }, depth + 1)));
  return places;
}

async function fillIn(walk: Walk, { dialogue, typed }: Place) {
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
