import { AppError } from '@palaver/contract';
import { defaultServiceCode, phoneNumberSchema, type TriedCall } from '@palaver/contract/internal';
import { askForm, type Forms } from '@palaver/forms/internal';
import {
  type Menu,
  type Opening,
  openDialogue,
  readConstants,
  renderScreen,
  resultsOf,
  type Step,
  takeInput,
  takeResult,
  toFormSnapshot,
  toInput,
} from '@palaver/program/internal';
import { z } from 'zod';
import { codesOf } from './program-files.ts';

const inputsSchema = z.array(z.string().max(160)).max(100);

export const trialSchema = z.strictObject({
  inputs: inputsSchema,
  language: z.string().max(35).optional(),
  outcomes: z.record(z.string().max(60), z.string().max(60)).optional(),
  /** The inputs of the call before, which timed out: an unfinished form is offered again. */
  timedOut: inputsSchema.optional(),
  phoneNumber: phoneNumberSchema.default('+254700000001'),
});

export type Trial = z.infer<typeof trialSchema>;

/** The channel adds what its telecom gateway would send and get. */
export type PlayedTrial = Omit<TriedCall, 'exchange'>;

const maxActions = 10;
const maxMs = 15_000;

/** Nothing is stored, sent or asked of other servers: results of actions are made up. */
export async function tryProgram(menu: Menu, forms: Pick<Forms, 'press'>, trial: Trial): Promise<PlayedTrial> {
  const { inputs, timedOut } = trial;
  const [first = 'en'] = menu.locales.keys();
  const language = trial.language !== undefined && menu.locales.has(trial.language) ? trial.language : first;
  const play = createPlay(menu, forms, trial);
  const before = timedOut && (await play(timedOut, { language }));
  const resume = before && !before.step.ended ? toFormSnapshot(menu, before.step.dialogue) : undefined;
  const { step, actions } = await play(inputs, { language, ...(resume && { resume }) });
  const { state, values, language: spoken } = step.dialogue;
  const { text, ended: isLast } = renderScreen(menu, step.dialogue);
  const ended = step.ended || isLast;
  const serviceCode = codesOf(menu)[0] ?? defaultServiceCode;
  return { screen: text, ended, state, language: spoken, values, actions, serviceCode };
}

function createPlay(menu: Menu, forms: Pick<Forms, 'press'>, { outcomes = {}, phoneNumber }: Trial) {
  const constants = readConstants(menu.expressions.keys());

  function settle({ dialogue, pending }: Step, actions: TriedCall['actions']): Step {
    const state = menu.states.get(dialogue.state);
    if (state?.kind !== 'action')
      return takeResult(menu, dialogue, { outcome: 'submitted', values: { ...pending?.submission?.values } });
    const results = resultsOf(menu, state, constants);
    const result = results.find(({ outcome }) => outcome === outcomes[dialogue.state]) ?? results[0];
    if (!result) throw new Error(`the action of ${dialogue.state} has no outcome`);
    const { outcome } = result;
    actions.push({ state: dialogue.state, action: state.action, outcome, outcomes: Object.keys(state.outcomes) });
    return takeResult(menu, dialogue, result);
  }

  return async (inputs: readonly string[], opening: Opening) => {
    const actions: TriedCall['actions'] = [];
    const now = Date.now();
    // All inputs together have the budget of one key press.
    let step = openDialogue(menu, opening, { phoneNumber, now });
    for (const part of inputs.keys()) {
      if (step.ended) break;
      if (Date.now() - now > maxMs) throw new AppError('VALIDATION_FAILED', 'The inputs take too long. Send fewer.');
      step = takeInput(menu, step.dialogue, toInput(inputs, part));
      for (let count = 0; (step.pending || step.form) && count < maxActions; count++)
        step = step.pending ? settle(step, actions) : await askForm(forms, menu, step);
    }
    return { step, actions };
  };
}
