import type { CelValue } from '@bufbuild/cel';
import { isCelList } from '@bufbuild/cel';
import type { FormReply, Submission } from '../forms/protocol.ts';
import { cutToMenu } from './cut-to-menu.ts';
import {
  type Caller,
  type Dialogue,
  type FormSnapshot,
  type Frame,
  forgetSecrets,
  leaveScreen,
  type Place,
  withoutView,
} from './dialogue.ts';
import { computeText, evaluate, holds } from './evaluate.ts';
import { formBackKey } from './form-screen.ts';
import { addValues } from './limit-values.ts';
import { isSearchable } from './list-options.ts';
import {
  type EachState,
  type FormState,
  isLogic,
  isQuestion,
  type LogicState,
  type Menu,
  type MenuState,
  type Option,
  type PromptState,
  requiresLogin,
  reservedKeys,
  resumeTarget,
  signatureOf,
} from './menu.ts';
import { backKeyOf, canGoBack, choosableOptions, countPages } from './render.ts';
import { type Input, validateAnswer } from './validate-answer.ts';
import { fromExpressionValue } from './value-types.ts';

/** What the caller of the engine must do before the dialogue continues: run the action of its state. */
export interface PendingAction {
  state: string;
  action: string;
  /** What a form that is complete submits. */
  submission?: Submission;
}

export interface Step {
  dialogue: Dialogue;
  pending?: PendingAction;
  /** The form must be asked first what it shows: at its beginning, or after an input. */
  form?: { input?: string };
  ended: boolean;
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
  /** When it was left; another call may have continued it since. */
  resumeAt?: number;
  /** Nothing is known of the phone. */
  isNewcomer?: true;
  /** Shown as the hint of the first screen. */
  notice?: { text: string; date: string };
}

/** A fresh dialogue at the main menu. */
export function openDialogue(menu: Menu, opening: Opening, caller?: Caller): Step {
  const { language, resume, notice, isNewcomer } = opening;
  const usable = resume && [resume.state, ...resume.stack].every((name) => menu.states.has(name)) ? resume : undefined;
  const dialogue: Dialogue = {
    state: menu.start,
    stack: [],
    page: 0,
    values: {},
    secrets: {},
    language,
    ...(caller && { caller }),
  };
  const arrived = arrive(menu, usable ? { ...dialogue, resume: usable } : dialogue, menu.start);
  const step = isNewcomer ? { ...arrived, dialogue: { ...arrived.dialogue, isNewcomer } } : arrived;
  // A menu without accounts has no texts for their notices.
  if (!notice || !menu.locales.get(language)?.has(notice.text)) return step;
  return { ...step, dialogue: { ...step.dialogue, hint: notice.text, values: { date: notice.date } } };
}

/** Applies one input to the screen the dialogue shows. */
export function takeInput(menu: Menu, dialogue: Dialogue, input: Input): Step {
  const state = menu.states.get(dialogue.state);
  // The menu file may have changed under an open session: its state is gone, the main menu is not.
  if (!state || state.kind === 'action' || isLogic(state))
    return openDialogue(menu, { language: dialogue.language }, dialogue.caller);
  const { value } = input;
  if (state.kind === 'end') return readOn(menu, dialogue, value);
  if (value === reservedKeys.exit) return arrive(menu, dialogue, menu.exit);
  if (state.kind === 'form') return pressForm(menu, dialogue, value);
  if (state.kind === 'prompt' && state.optional && (value === reservedKeys.skip || value === ''))
    return arrive(menu, leaveScreen(forget(dialogue, [state.save]), dialogue.secrets), state.to);
  if (value === '') return stay(dialogue, 'hint.empty');
  if (value === backKeyOf(menu, state, dialogue) && canGoBack(menu, dialogue)) return goBack(menu, dialogue);
  if (value === reservedKeys.more && dialogue.page + 1 < countPages(menu, dialogue)) {
    return { dialogue: { ...dialogue, page: dialogue.page + 1 }, ended: false };
  }
  if (state.kind === 'prompt') return answer(menu, dialogue, state, input);
  const option = choosableOptions(menu, dialogue).find(({ key }) => key === value);
  if (option) return choose(menu, dialogue, option);
  if (state.kind === 'menu' && /\D/.test(value) && isSearchable(menu, state, dialogue))
    return search(menu, dialogue, value);
  return stay(dialogue, 'hint.choice');
}

/** Filters a long list by what was typed; if no row matches, shows a hint and the whole list. */
function search(menu: Menu, { search: _, hint: __, hintPage: ___, ...dialogue }: Dialogue, value: string): Step {
  const found = { ...dialogue, page: 0, search: value };
  if (choosableOptions(menu, found).length > 0) return { dialogue: found, ended: false };
  return stay({ ...dialogue, page: 0 }, 'hint.noMatch');
}

/** Continues from an action state by the outcome of its action. */
export function takeResult(menu: Menu, dialogue: Dialogue, result: ActionResult): Step {
  const state = menu.states.get(dialogue.state);
  if (state?.kind !== 'action' && state?.kind !== 'form')
    throw new Error(`state ${dialogue.state} has no action to settle`);
  const outcome: { to: string; hint?: string } | undefined =
    state.kind === 'form' ? { to: state.to } : state.outcomes[result.outcome];
  if (!outcome) throw new Error(`the action of ${dialogue.state} gave the undeclared outcome ${result.outcome}`);
  let next: Dialogue = { ...dialogue, values: addValues(dialogue.values, result.values) };
  if (result.language !== undefined) {
    // The first screen offers it no longer, also by Back.
    next = { ...withoutView(next, menu.start), language: result.language };
  }
  if (result.account === null) delete next.account;
  else if (result.account !== undefined) next.account = result.account;
  const { afterLogin } = next;
  if (typeof result.account === 'string' && afterLogin) return goTo(menu, next, afterLogin);
  const finishes = state.kind === 'form' || signatureOf(state, menu.registry)?.finishes;
  const finished = finishes && !next.stack.includes(outcome.to);
  if (finished) next = finishForm(menu, next);
  const step = arrive(menu, next, outcome.to);
  const hint = result.hint ?? outcome.hint;
  if (hint === undefined) return step;
  // The hint may use values of the action, even on a menu that has just dropped all other values.
  const values = addValues(step.dialogue.values, result.values);
  return { ...step, dialogue: { ...step.dialogue, hint, values } };
}

/** Back no longer leads to what was asked; a sub-flow or loop around the action continues. */
function finishForm(menu: Menu, dialogue: Dialogue): Dialogue {
  const stack = cutToMenu(menu, dialogue);
  const frames = dialogue.frames?.map((frame) => ({ ...frame, depth: Math.min(frame.depth, stack.length) }));
  return forgetSecrets({ ...dialogue, stack, ...(frames && { frames }) });
}

/** Paging is done here; everything else is for the form. */
function pressForm(menu: Menu, dialogue: Dialogue, value: string): Step {
  const { page } = dialogue;
  const isBack = page > 0 && value === formBackKey(dialogue.form?.screen);
  const isMore = value === reservedKeys.more && page + 1 < countPages(menu, dialogue);
  if (isBack || isMore) return { dialogue: { ...dialogue, page: isBack ? page - 1 : page + 1 }, ended: false };
  return { dialogue, form: { input: value }, ended: false };
}

/** Continues in a form by what it shows next, or out of it. */
export function takeFormReply(menu: Menu, { hint: _, ...dialogue }: Dialogue, reply: FormReply): Step {
  const { state } = dialogue;
  if (reply.kind === 'screen') {
    const { progress, screen } = reply;
    return { dialogue: { ...dialogue, page: 0, form: { state, progress, screen } }, ended: false };
  }
  const { form: __, ...left } = dialogue;
  if (reply.kind === 'left') return goBack(menu, { ...left, page: 0 });
  return { dialogue: left, pending: { state, action: 'form', submission: reply.submission }, ended: false };
}

/** A closing text that is longer than a screen ends with its last page. */
function readOn(menu: Menu, dialogue: Dialogue, value: string): Step {
  const last = countPages(menu, dialogue) - 1;
  const page = value === reservedKeys.more ? Math.min(dialogue.page + 1, last) : dialogue.page;
  return { dialogue: { ...dialogue, page }, ended: page === last };
}

function answer(menu: Menu, dialogue: Dialogue, state: PromptState, input: Input): Step {
  const validation = validateAnswer(menu, dialogue, state, input);
  if (!validation.ok) return stay(dialogue, validation.hint);
  const { value, labels } = validation;
  const left = leaveScreen(forget(dialogue, [state.save]), dialogue.secrets);
  if (state.secret) return arrive(menu, { ...left, secrets: { ...left.secrets, [state.save]: input.part } }, state.to);
  const label = labels && { [`${state.save}.label`]: labels.join('\n') };
  return arrive(menu, { ...left, values: { ...left.values, [state.save]: value, ...label } }, state.to);
}

function forget(dialogue: Dialogue, names: readonly string[]): Dialogue {
  const keep = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name.replace(/\.label$/, ''))));
  return { ...dialogue, values: keep(dialogue.values), secrets: keep(dialogue.secrets) };
}

/** The values of a state that is not shown. */
function givenBy(state: PromptState | MenuState | FormState): string[] {
  if (state.kind === 'prompt') return [state.save];
  return Object.keys((state.kind === 'form' ? state.take : state.from?.save) ?? {});
}

function choose(menu: Menu, dialogue: Dialogue, option: Option): Step {
  if (option.to === resumeTarget && dialogue.resume) {
    return resumeForm(menu, dialogue, dialogue.resume);
  }
  const given = Object.entries(option.set ?? {}).flatMap(([name, value]) => [
    [name, value],
    [`${name}.label`, option.label ?? option.text],
  ]);
  if (given.length === 0) return arrive(menu, leaveScreen(dialogue), option.to);
  return arrive(
    menu,
    leaveScreen({ ...dialogue, values: { ...dialogue.values, ...Object.fromEntries(given) } }),
    option.to,
  );
}

/** Continues an unfinished form; one that needed a login asks for it first. */
function resumeForm(menu: Menu, { resume: _, ...dialogue }: Dialogue, form: FormSnapshot): Step {
  const { authenticated, ...place } = form;
  const guarded = authenticated || form.stack.some((name) => requiresLogin(menu.states.get(name)));
  if (!guarded || dialogue.account !== undefined) return goTo(menu, dialogue, place);
  return logInFirst(menu, leaveScreen(dialogue), place);
}

function goTo(menu: Menu, { afterLogin: _, frames: __, ...dialogue }: Dialogue, place: Place): Step {
  const { state, stack, values, frames, form } = place;
  return arrive(menu, { ...dialogue, stack, values, ...(frames && { frames }), ...(form && { form }) }, state);
}

/** Without a login in the menu the main menu is shown. */
function logInFirst(menu: Menu, dialogue: Dialogue, afterLogin: Place): Step {
  if (menu.login === undefined) return arrive(menu, { ...dialogue, stack: [] }, menu.start);
  return arrive(menu, { ...dialogue, afterLogin }, menu.login);
}

function goBack(menu: Menu, dialogue: Dialogue): Step {
  if (dialogue.page > 0) return { dialogue: { ...dialogue, page: dialogue.page - 1 }, ended: false };
  const { afterLogin: _, ...rest } = dialogue;
  const stack = dialogue.stack.slice(0, -1);
  const back = dialogue.stack.at(-1) ?? menu.start;
  const { secrets = {}, ...view } = dialogue.left?.[back] ?? {};
  const left = leaveFrames({ ...rest, stack, secrets }, ({ depth }) => depth <= stack.length);
  const step = arrive(menu, left, back);
  return step.dialogue.state === back ? { ...step, dialogue: { ...step.dialogue, ...view } } : step;
}

/** Reaching a screen that is already on the stack counts as going back to it, so that loops do not grow the stack. */
function arrive(menu: Menu, dialogue: Dialogue, to: string, hops = 0): Step {
  const state = menu.states.get(to);
  if (!state) throw new Error(`no state named ${to}`);
  if (hops > maxHops) throw new Error(`the states after ${to} lead in a circle`);
  if (dialogue.account === undefined && requiresLogin(state)) {
    const { stack, values, frames } = dialogue;
    return logInFirst(menu, dialogue, { state: to, stack, values, ...(frames && { frames }) });
  }
  const { hint: _, hintPage: __, search: ___, isNewcomer: ____, form, ...rest } = dialogue;
  if (isLogic(state)) return follow(menu, { ...rest, state: to }, state, hops);
  if ('when' in state && state.to !== undefined && state.when !== undefined && !holds(menu, rest, state.when))
    return arrive(menu, forget(rest, givenBy(state)), state.to, hops + 1);
  const seen = rest.stack.indexOf(to);
  const stack = seen < 0 ? rest.stack : rest.stack.slice(0, seen);
  const next = leaveFrames({ ...rest, state: to, page: 0, stack }, ({ depth }) => depth <= stack.length);
  // A resumed form shows what it showed.
  if (state.kind === 'form')
    return form?.state === to
      ? { dialogue: { ...next, form }, ended: false }
      : { dialogue: next, form: {}, ended: false };
  if (state.kind === 'action') return { dialogue: next, pending: { state: to, action: state.action }, ended: false };
  // Answers of a form are dropped at its end, and so is an unfinished login.
  const isAtEnd = menu.isProgram ? to === menu.start : state.kind === 'menu' && !isQuestion(state);
  if (isAtEnd && !inForm(menu, next)) {
    const { afterLogin: _, frames: __, ...kept } = next;
    return { dialogue: forgetSecrets({ ...kept, values: {} }), ended: false };
  }
  return { dialogue: next, ended: state.kind === 'end' && countPages(menu, next) === 1 };
}

/** More steps without a screen than any program needs. */
const maxHops = 300;

/** Goes through a state that shows nothing. */
function follow(menu: Menu, dialogue: Dialogue, state: LogicState, hops: number): Step {
  const next = (to: string, changed = dialogue) => arrive(menu, changed, to, hops + 1);
  const { frames = [], stack } = dialogue;
  switch (state.kind) {
    case 'branch':
      return next(state.when.find(({ that }) => holds(menu, dialogue, that))?.to ?? state.else);
    case 'set': {
      let changed = dialogue;
      for (const [name, source] of Object.entries(state.values))
        changed = { ...changed, values: addValues(changed.values, { [name]: computeText(menu, changed, source) }) };
      return next(state.to, changed);
    }
    case 'call':
      return next(state.flow, { ...dialogue, frames: [...frames, { state: dialogue.state, depth: stack.length }] });
    case 'each':
      return startItem(menu, dialogue, { state: dialogue.state, depth: stack.length, index: 0 }, hops);
    case 'return': {
      const frame = frames.at(-1);
      const caller = frame && menu.states.get(frame.state);
      if (!frame || (caller?.kind !== 'call' && caller?.kind !== 'each')) return next(menu.start);
      // Back no longer leads to what was asked inside, as after a finished form.
      const back = { ...dialogue, stack: stack.slice(0, frame.depth), frames: frames.slice(0, -1) };
      if (caller.kind === 'call') return next(caller.to, back);
      return startItem(menu, back, { ...frame, index: (frame.index ?? 0) + 1 }, hops);
    }
  }
}

function startItem(menu: Menu, dialogue: Dialogue, frame: Frame, hops: number): Step {
  const each = menu.states.get(frame.state) as EachState;
  const list = evaluate(menu, dialogue, each.list);
  const item: CelValue | undefined = isCelList(list) ? [...list][frame.index ?? 0] : undefined;
  if (item === undefined) return arrive(menu, forget(dialogue, [each.as]), each.to, hops + 1);
  const values = addValues(dialogue.values, { [each.as]: fromExpressionValue(item) });
  const frames = [...(dialogue.frames ?? []), frame];
  return arrive(menu, { ...dialogue, values, frames }, each.do, hops + 1);
}

function leaveFrames(dialogue: Dialogue, isKept: (frame: Frame) => boolean): Dialogue {
  if (!dialogue.frames) return dialogue;
  const { frames, ...rest } = dialogue;
  const kept = frames.filter(isKept);
  return kept.length > 0 ? { ...rest, frames: kept } : rest;
}

function inForm(menu: Menu, dialogue: Dialogue): boolean {
  return dialogue.stack.some((name) => isQuestion(menu.states.get(name)));
}

function stay(dialogue: Dialogue, hint: string): Step {
  const { hintPage: _, ...rest } = dialogue;
  const { page } = dialogue;
  return { dialogue: { ...rest, hint, ...(page > 0 && { hintPage: page }) }, ended: false };
}
