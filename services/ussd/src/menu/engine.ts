import type { Dialogue, FormSnapshot, Place } from './dialogue.ts';
import {
  isQuestion,
  type Menu,
  type MenuState,
  type Option,
  requiresLogin,
  reservedKeys,
  resumeTarget,
  type State,
} from './menu.ts';
import { backKeyOf, canGoBack, choosableOptions, countPages } from './render.ts';

/** What the caller must do before the dialogue can go on: run the action of the state it stands in. */
export interface PendingAction {
  state: string;
  action: string;
}

export interface Step {
  dialogue: Dialogue;
  pending?: PendingAction;
  ended: boolean;
}

export interface Input {
  value: string;
  /** Its index among the parts of the accumulated text. */
  part: number;
  /** All parts so far, for answers that are kept by their place only. */
  parts: readonly string[];
  phoneNumber: string;
}

/** What an action reports back. */
export interface ActionResult {
  outcome: string;
  values?: Record<string, string>;
  language?: string;
  /** The account logged in; `null` logs out. */
  account?: string | null;
  /** A hint in place of the outcome's own; its text is among those the action declares. */
  hint?: string;
}

export interface Opening {
  language: string;
  /** The id of the program that the session began with. */
  program?: string;
  resume?: FormSnapshot;
  /** Shown as the hint of the first screen. */
  notice?: { text: string; date: string };
}

/** A fresh dialogue at the main menu. */
export function openDialogue(menu: Menu, opening: Opening): Step {
  const { language, resume, notice } = opening;
  const usable = resume && [resume.state, ...resume.stack].every((name) => menu.states.has(name)) ? resume : undefined;
  const dialogue: Dialogue = { state: menu.start, stack: [], page: 0, values: {}, secrets: {}, language };
  const step = arrive(menu, usable ? { ...dialogue, resume: usable } : dialogue, menu.start);
  // A menu without accounts has no texts for their notices.
  if (!notice || !menu.locales.get(language)?.has(notice.text)) return step;
  return { ...step, dialogue: { ...step.dialogue, hint: notice.text, values: { date: notice.date } } };
}

/** Applies one input to the screen the dialogue shows. */
export function takeInput(menu: Menu, dialogue: Dialogue, input: Input): Step {
  const state = menu.states.get(dialogue.state);
  // The menu file may have changed under an open session: its state is gone, the main menu is not.
  if (!state || state.kind === 'action') return openDialogue(menu, { language: dialogue.language });
  if (state.kind === 'end') return { dialogue, ended: true };
  const { value } = input;
  if (value === reservedKeys.exit) return arrive(menu, dialogue, menu.exit);
  if (value === '') return stay(dialogue, 'hint.empty');
  if (value === backKeyOf(menu, state) && canGoBack(menu, dialogue)) return goBack(menu, dialogue);
  if (value === reservedKeys.more && dialogue.page + 1 < countPages(menu, dialogue)) {
    return { dialogue: { ...dialogue, page: dialogue.page + 1 }, ended: false };
  }
  if (state.kind === 'prompt') return answer(menu, dialogue, state, input);
  const option = choosableOptions(menu, dialogue).find(({ key }) => key === value);
  return option ? choose(menu, dialogue, option) : stay(dialogue, 'hint.choice');
}

/** Goes on from an action state by the outcome of its action. */
export function takeResult(menu: Menu, dialogue: Dialogue, result: ActionResult): Step {
  const state = menu.states.get(dialogue.state);
  if (state?.kind !== 'action') throw new Error(`state ${dialogue.state} has no action to settle`);
  const outcome = state.outcomes[result.outcome];
  if (!outcome) throw new Error(`action ${state.action} gave the undeclared outcome ${result.outcome}`);
  let next: Dialogue = { ...dialogue, values: { ...dialogue.values, ...result.values } };
  if (result.language !== undefined) next.language = result.language;
  if (result.account === null) delete next.account;
  else if (result.account !== undefined) next.account = result.account;
  const { afterLogin } = next;
  if (typeof result.account === 'string' && afterLogin) return goTo(menu, next, afterLogin);
  const finished = menu.registry.actions[state.action]?.finishes && !next.stack.includes(outcome.to);
  if (finished) next = { ...next, stack: cutToMenu(menu, next), secrets: {} };
  const step = arrive(menu, next, outcome.to);
  const hint = result.hint ?? outcome.hint;
  if (hint === undefined) return step;
  // The hint may speak of what the action found, also on a menu that has just forgotten everything else.
  const values = { ...step.dialogue.values, ...result.values };
  return { ...step, dialogue: { ...step.dialogue, hint, values } };
}

function answer(menu: Menu, dialogue: Dialogue, state: State & { kind: 'prompt' }, input: Input): Step {
  const validation = menu.registry.validators[state.validator]?.check(input.value, {
    answer: (name) => {
      const part = dialogue.secrets[name];
      return part === undefined ? dialogue.values[name] : input.parts[part];
    },
    phoneNumber: input.phoneNumber,
  });
  if (!validation) throw new Error(`no validator named ${state.validator}`);
  if (!validation.ok) return stay(dialogue, validation.hint);
  const answered = state.secret
    ? { ...dialogue, secrets: { ...dialogue.secrets, [state.save]: input.part } }
    : { ...dialogue, values: { ...dialogue.values, [state.save]: validation.value } };
  return continueDialogue(menu, answered, state.to);
}

function choose(menu: Menu, dialogue: Dialogue, option: Option): Step {
  if (option.to === resumeTarget && dialogue.resume) {
    return resumeForm(menu, dialogue, dialogue.resume);
  }
  const given = Object.entries(option.set ?? {}).flatMap(([name, value]) => [
    [name, value],
    [`${name}.label`, option.text],
  ]);
  if (given.length === 0) return continueDialogue(menu, dialogue, option.to);
  return continueDialogue(
    menu,
    { ...dialogue, values: { ...dialogue.values, ...Object.fromEntries(given) } },
    option.to,
  );
}

/** Takes an unfinished form up; one that was behind a login asks for it first. */
function resumeForm(menu: Menu, { resume: _, ...dialogue }: Dialogue, form: FormSnapshot): Step {
  const { authenticated, ...place } = form;
  const guarded = authenticated || form.stack.some((name) => requiresLogin(menu.states.get(name)));
  if (!guarded || dialogue.account !== undefined) return goTo(menu, dialogue, place);
  return logInFirst(menu, { ...dialogue, stack: [...dialogue.stack, dialogue.state] }, place);
}

function goTo(menu: Menu, { afterLogin: _, ...dialogue }: Dialogue, { state, stack, values }: Place): Step {
  return arrive(menu, { ...dialogue, stack, values }, state);
}

/** Without a login in the menu there is no way on: the main menu. */
function logInFirst(menu: Menu, dialogue: Dialogue, afterLogin: Place): Step {
  if (menu.login === undefined) return arrive(menu, { ...dialogue, stack: [] }, menu.start);
  return arrive(menu, { ...dialogue, afterLogin }, menu.login);
}

function continueDialogue(menu: Menu, dialogue: Dialogue, to: string): Step {
  return arrive(menu, { ...dialogue, stack: [...dialogue.stack, dialogue.state] }, to);
}

function goBack(menu: Menu, dialogue: Dialogue): Step {
  if (dialogue.page > 0) return { dialogue: { ...dialogue, page: dialogue.page - 1 }, ended: false };
  const { afterLogin: _, ...rest } = dialogue;
  return arrive(menu, { ...rest, stack: dialogue.stack.slice(0, -1) }, dialogue.stack.at(-1) ?? menu.start);
}

/** Coming to a screen that is already among those behind means having gone back to it: the stack never grows in circles. */
function arrive(menu: Menu, dialogue: Dialogue, to: string): Step {
  const state = menu.states.get(to);
  if (!state) throw new Error(`no state named ${to}`);
  if (dialogue.account === undefined && requiresLogin(state)) {
    const { stack, values } = dialogue;
    return logInFirst(menu, dialogue, { state: to, stack, values });
  }
  const { hint: _, hintPage: __, ...rest } = dialogue;
  const seen = rest.stack.indexOf(to);
  const next: Dialogue = { ...rest, state: to, page: 0, stack: seen < 0 ? rest.stack : rest.stack.slice(0, seen) };
  if (state.kind === 'action') return { dialogue: next, pending: { state: to, action: state.action }, ended: false };
  // A menu that only leads on is where forms end: what they asked is forgotten, and so is a login that came to nothing.
  if (state.kind === 'menu' && !isQuestion(state) && !inForm(menu, next)) {
    const { afterLogin: _, ...kept } = next;
    return { dialogue: { ...kept, values: {}, secrets: {} }, ended: false };
  }
  return { dialogue: next, ended: state.kind === 'end' };
}

function inForm(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.stack.some((name) => isQuestion(menu.states.get(name)));
}

function stay(dialogue: Dialogue, hint: string): Step {
  const { hintPage: _, ...rest } = dialogue;
  const { page } = dialogue;
  return { dialogue: { ...rest, hint, ...(page > 0 && { hintPage: page }) }, ended: false };
}

/**
 * The screens behind a dialogue that has just finished the action it is in, without those of its form: the form begins
 * with its first question, or with the menu that offers the action itself. The start is above every form.
 */
function cutToMenu(menu: Menu, { state: action, stack }: Dialogue): readonly string[] {
  const question = stack.findIndex((name, i) => i > 0 && isQuestion(menu.states.get(name)));
  const above = question < 0 ? stack : stack.slice(0, question);
  const at = above.findLastIndex((name, i) => {
    const state = menu.states.get(name);
    return i === 0 || (state?.kind === 'menu' && !offers(menu, state, action));
  });
  return above.slice(0, at + 1);
}

/** Whether one choice on this menu is enough to run the action. */
function offers(menu: Menu, { options }: MenuState, action: string): boolean {
  const open = options.map(({ to }) => to);
  const seen = new Set<string>();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === action) return true;
    const state = menu.states.get(name);
    if (state?.kind !== 'action' || seen.has(name)) continue;
    seen.add(name);
    open.push(...Object.values(state.outcomes).map(({ to }) => to));
  }
  return false;
}
