import {
  type Caller,
  type Dialogue,
  type FormReply,
  type FormSnapshot,
  forget,
  forgetSecrets,
  type Input,
  leaveScreen,
  type Place,
  type Step,
  stay,
  withoutView,
} from '../model/dialogue.ts';
import { holds } from '../model/evaluate.ts';
import { hasText } from '../model/locales.ts';
import { type Menu, resumeTarget } from '../model/menu.ts';
import { backKeyOf, canGoBack, choosableOptions, countPages, surfaceOf } from '../show/render.ts';
import { signatureOf } from '../states/action.ts';
import type { Move, Press, Shown } from '../states/kind.ts';
import type { MenuState } from '../states/menu.ts';
import { isQuestion, kindOf, nextOf, reach, requiresLogin } from '../states/states.ts';
import { reservedKeys } from '../values/keys.ts';
import { addValues } from '../values/limits.ts';

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
  program?: string;
  resume?: FormSnapshot;
  /** When it was left; another call may have continued it since. */
  resumeAt?: number;
  /** Nothing is stored about this phone yet. */
  isNewcomer?: true;
  notice?: { text: string; date: string };
}

export function openDialogue(menu: Menu, opening: Opening, caller?: Caller): Step {
  const { language, notice, isNewcomer } = opening;
  const isUsable = [opening.resume?.state, ...(opening.resume?.stack ?? [])].every((name = '') =>
    menu.states.has(name),
  );
  const resume = isUsable ? opening.resume : undefined;
  const begun = { state: menu.start, stack: [], page: 0, values: {}, secrets: {}, language, caller, resume };
  const { dialogue } = arrive(menu, begun, menu.start);
  // A menu without accounts has no texts for their notices.
  const isNoted = notice && hasText(menu, { language }, notice.text);
  const noted = isNoted && { hint: notice.text, values: { date: notice.date } };
  return { dialogue: { ...dialogue, isNewcomer, ...noted }, ended: false };
}

export function takeInput(menu: Menu, dialogue: Dialogue, typed: Input): Step {
  const state = menu.states.get(dialogue.state);
  const kind = state && kindOf(state);
  // The menu file may have changed under an open session: its state is gone, the main menu is not.
  if (!state || !kind?.press) return openDialogue(menu, { language: dialogue.language }, dialogue.caller);
  const backKey = backKeyOf(menu, state, dialogue);
  const input = toReserved(dialogue, typed, backKey);
  if (input.value === reservedKeys.exit && state.kind !== 'end') return arrive(menu, dialogue, menu.exit);
  const navigate: Press['navigate'] = (at) => {
    if (input.value === '') return stay(at, 'hint.empty');
    if (input.value === backKey && canGoBack(menu, at)) return goBack(menu, at);
    const isMore = input.value === reservedKeys.more && at.page + 1 < countPages(menu, at);
    return isMore ? { dialogue: { ...at, page: at.page + 1 }, ended: false } : undefined;
  };
  const next = kind.press(state, dialogue, { ...shownOf(menu), input, navigate });
  return 'to' in next ? arrive(menu, next.dialogue, next.to) : next;
}

function toReserved(dialogue: Dialogue, input: Input, back: string): Input {
  const { keys = {} } = surfaceOf(dialogue);
  const all = { ...reservedKeys, back };
  const name = (Object.keys(keys) as (keyof typeof keys)[]).find((each) => keys[each] === input.value);
  return name ? { ...input, value: all[name] } : input;
}

const shownOf = (menu: Menu): Shown => ({
  menu,
  countPages: (dialogue) => countPages(menu, dialogue),
  options: (dialogue) => choosableOptions(menu, dialogue),
});

export function takeResult(menu: Menu, dialogue: Dialogue, result: ActionResult): Step {
  const state = menu.states.get(dialogue.state);
  if (state?.kind !== 'action' && state?.kind !== 'form')
    throw new Error(`state ${dialogue.state} has no action to settle`);
  const outcome: { to: string; hint?: string } | undefined =
    state.kind === 'form' ? { to: state.to } : state.outcomes[result.outcome];
  if (!outcome) throw new Error(`the action of ${dialogue.state} gave the undeclared outcome ${result.outcome}`);
  const account = result.account === undefined ? dialogue.account : (result.account ?? undefined);
  let next: Dialogue = { ...dialogue, values: addValues(dialogue.values, result.values), account };
  // The first screen no longer offers the choice, even after Back.
  if (result.language !== undefined) next = { ...withoutView(next, menu.start), language: result.language };
  const { afterLogin } = next;
  if (typeof result.account === 'string' && afterLogin) return goTo(menu, next, afterLogin);
  const finishes = state.kind === 'form' || signatureOf(state, menu.registry)?.finishes;
  if (finishes && !next.stack.includes(outcome.to)) next = finishForm(menu, next);
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
  return forgetSecrets({ ...dialogue, stack, frames });
}

export function takeFormReply(menu: Menu, dialogue: Dialogue, reply: FormReply): Step {
  const { state } = dialogue;
  const left = { ...dialogue, hint: undefined, form: undefined };
  if (reply.kind === 'left') return goBack(menu, { ...left, page: 0 });
  if (reply.kind === 'complete')
    return { dialogue: left, pending: { state, action: 'form', submission: reply.submission }, ended: false };
  const { progress, screen } = reply;
  return { dialogue: { ...left, page: 0, form: { state, progress, screen } }, ended: false };
}

/** Continues an unfinished form, after a login if the form needed one. */
function resumeForm(menu: Menu, { resume: form, ...dialogue }: Dialogue): Step {
  if (!form) throw new Error('there is no form to continue');
  const { authenticated, ...place } = form;
  const guarded = authenticated || form.stack.some((name) => requiresLogin(menu.states.get(name)));
  if (!guarded || dialogue.account !== undefined) return goTo(menu, dialogue, place);
  return logInFirst(menu, leaveScreen(dialogue), place);
}

function goTo(menu: Menu, dialogue: Dialogue, { state, stack, values, frames, form }: Place): Step {
  return arrive(menu, { ...dialogue, stack, values, frames, form, afterLogin: undefined }, state);
}

function logInFirst(menu: Menu, dialogue: Dialogue, afterLogin: Place): Step {
  if (menu.login === undefined) return arrive(menu, { ...dialogue, stack: [] }, menu.start);
  return arrive(menu, { ...dialogue, afterLogin }, menu.login);
}

function goBack(menu: Menu, dialogue: Dialogue): Step {
  if (dialogue.page > 0) return { dialogue: { ...dialogue, page: dialogue.page - 1 }, ended: false };
  const stack = dialogue.stack.slice(0, -1);
  const back = dialogue.stack.at(-1) ?? menu.start;
  const { secrets = {}, ...view } = dialogue.left?.[back] ?? {};
  const step = arrive(menu, leaveFrames({ ...dialogue, stack, secrets, afterLogin: undefined }), back);
  if (step.dialogue.state !== back) return step;
  return { ...step, dialogue: { ...step.dialogue, ...view, page: view.page ?? 0 } };
}

/** Arriving at a screen that is already on the stack goes back to it, so that loops do not grow the stack. */
function arrive(menu: Menu, dialogue: Dialogue, to: string, hops = 0): Step {
  if (to === resumeTarget) return resumeForm(menu, dialogue);
  const state = menu.states.get(to);
  if (!state) throw new Error(`no state named ${to}`);
  if (hops > maxHops) throw new Error(`the states after ${to} lead in a circle`);
  if (dialogue.account === undefined && requiresLogin(state)) {
    const { stack, values, frames } = dialogue;
    return logInFirst(menu, dialogue, { state: to, stack, values, frames });
  }
  const { hint: _, hintPage: __, search: ___, isNewcomer: ____, form, ...rest } = dialogue;
  const kind = kindOf(state);
  if (kind.follow) {
    const here = { ...rest, state: to };
    const next = kind.follow(state, here, menu) ?? leaveFlow(menu, here);
    return arrive(menu, next.dialogue, next.to, hops + 1);
  }
  const when = 'when' in state && typeof state.when === 'string' ? state.when : undefined;
  if (when !== undefined && 'to' in state && state.to !== undefined) {
    const given = Array.from(kind.gives?.(state, menu) ?? [], ([name]) => name);
    if (!holds(menu, rest, when)) return arrive(menu, forget(rest, given), state.to, hops + 1);
  }
  const seen = rest.stack.indexOf(to);
  const stack = seen < 0 ? rest.stack : rest.stack.slice(0, seen);
  const shown = { ...rest, state: to, page: 0, stack, ...(form?.state === to && { form }) };
  const next = leaveFrames(shown);
  if (kind.enter) return kind.enter(state, next, shownOf(menu));
  // Answers of a form are dropped at its end, and so is an unfinished login.
  if (to === menu.start && !stack.some((name) => isQuestion(menu.states.get(name)))) {
    return { dialogue: forgetSecrets({ ...next, values: {}, afterLogin: undefined, frames: undefined }), ended: false };
  }
  return { dialogue: next, ended: false };
}

const maxHops = 300;

/** Back no longer leads to what was asked inside, as after a finished form. */
function leaveFlow(menu: Menu, dialogue: Dialogue): Move {
  const { frames = [], stack } = dialogue;
  const frame = frames.at(-1);
  const state = frame && menu.states.get(frame.state);
  const comeBack = state && kindOf(state).comeBack;
  if (!frame || !comeBack) return { dialogue, to: menu.start };
  const left = { ...dialogue, state: frame.state, stack: stack.slice(0, frame.depth), frames: frames.slice(0, -1) };
  return comeBack(state, left, { menu, index: frame.index ?? 0 });
}

/** Without the sub-flows and loops that began on screens which Back no longer leads to. */
function leaveFrames(dialogue: Dialogue): Dialogue {
  const frames = dialogue.frames?.filter(({ depth }) => depth <= dialogue.stack.length);
  return { ...dialogue, frames: frames?.length ? frames : undefined };
}

/** Cuts off the screens of a finished form, which began with its first question or with the menu that offers its action. */
function cutToMenu(menu: Menu, { state: action, stack }: Dialogue): readonly string[] {
  const question = stack.findIndex((name, i) => i > 0 && isQuestion(menu.states.get(name)));
  const above = question < 0 ? stack : stack.slice(0, question);
  const at = above.findLastIndex((name, i) => {
    const state = menu.states.get(name);
    return i === 0 || (state?.kind === 'menu' && !offers(menu, state, action));
  });
  return above.slice(0, at + 1);
}

function offers(menu: Menu, { options }: MenuState, action: string): boolean {
  const next = (name: string) => {
    const state = menu.states.get(name);
    return state && 'text' in state ? [] : nextOf(state);
  };
  const offered = options.map(({ to }) => to);
  return reach(offered, next).has(action);
}

/** To continue at the last unanswered question, or at the first secret one, since secrets are not kept. */
export function toFormSnapshot(menu: Menu, dialogue: Dialogue): FormSnapshot | undefined {
  const asks = (name: string) => isQuestion(menu.states.get(name));
  if (!dialogue.afterLogin && !asks(dialogue.state) && !dialogue.stack.some(asks)) return undefined;
  const place = toSnapshot(menu, dialogue);
  if (!place || !asks(place.state)) return undefined;
  const answered = place.stack.some(asks) || place.form?.progress.begun;
  return answered ? place : undefined;
}

/** The current screen with all earlier answers, or the first question for a secret, since secrets are not kept. */
export function toSnapshot(menu: Menu, dialogue: Dialogue): FormSnapshot | undefined {
  const { afterLogin, account, values } = { ...dialogue, ...dialogue.afterLogin };
  const screens = afterLogin ? toLastQuestion(menu, afterLogin) : [...dialogue.stack, dialogue.state];
  const isSecret = (name: string) => {
    const state = menu.states.get(name);
    return state?.kind === 'prompt' && state.secret;
  };
  const firstSecret = screens.findIndex(isSecret);
  const upTo = firstSecret < 0 ? screens.length - 1 : firstSecret;
  const state = screens[upTo];
  if (state === undefined) return undefined;
  const stack = screens.slice(0, upTo);
  const frames = dialogue.frames?.filter(({ depth }) => depth <= stack.length);
  const form = dialogue.form?.state === state ? dialogue.form : undefined;
  const isGuarded = afterLogin !== undefined || account !== undefined;
  return { state, stack, values, frames, form, ...(isGuarded && { authenticated: true }) };
}

/** A login may precede an action, which is not a screen to return to. */
function toLastQuestion(menu: Menu, { stack, state }: Place): string[] {
  const screens = [...stack, state];
  return screens.slice(0, screens.findLastIndex((name) => isQuestion(menu.states.get(name))) + 1);
}
