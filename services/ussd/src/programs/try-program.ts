import { constantsOf } from '../explore/constants.ts';
import { resultsOf } from '../explore/results.ts';
import type { Forms } from '../forms/forms.ts';
import { openDialogue, type Step, takeInput, takeResult } from '../menu/engine.ts';
import type { Menu } from '../menu/menu.ts';
import { renderScreen } from '../menu/render.ts';
import { askForm } from '../session/handle-request.ts';

export interface Trial {
  inputs: readonly string[];
  language?: string | undefined;
  /** The outcome that the action of a state has; its first where none is given. */
  outcomes?: Readonly<Record<string, string>> | undefined;
}

export interface TriedCall {
  screen: string;
  ended: boolean;
  state: string;
  language: string;
  values: Readonly<Record<string, string>>;
  /** What the program would have done, with made-up results. */
  actions: { state: string; action: string; outcome: string; outcomes: string[] }[];
}

const phoneNumber = '+254700000001';
const maxActions = 10;

/** Plays inputs on a program from its start. Nothing is stored, sent or asked of other servers: results are made up. */
export async function tryProgram(menu: Menu, forms: Pick<Forms, 'press'>, trial: Trial): Promise<TriedCall> {
  const { inputs, outcomes = {} } = trial;
  const [first = 'en'] = menu.locales.keys();
  const language = trial.language !== undefined && menu.locales.has(trial.language) ? trial.language : first;
  const constants = constantsOf(menu);
  const actions: TriedCall['actions'] = [];

  function settle({ dialogue, pending }: Step): Step {
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

  let step = openDialogue(menu, { language }, { phoneNumber, now: Date.now() });
  for (const [part, value] of inputs.entries()) {
    if (step.ended) break;
    step = takeInput(menu, step.dialogue, { value, part, parts: [...inputs], phoneNumber });
    for (let count = 0; (step.pending || step.form) && count < maxActions; count++)
      step = step.pending ? settle(step) : await askForm(forms, menu, step);
  }
  const { state, values, language: spoken } = step.dialogue;
  const { text, ended } = renderScreen(menu, step.dialogue);
  return { screen: text, ended: step.ended || ended, state, language: spoken, values, actions };
}
