import type { FormProgress, FormScreen } from '../forms/protocol.ts';
import { isQuestion, type Menu } from './menu.ts';
import type { ExpressionBudget } from './meter-expression.ts';

/** The position of a user in the menus. Immutable: the engine returns the next one. */
export interface Dialogue {
  state: string;
  /** The screens Back leads through, the nearest last. */
  stack: readonly string[];
  page: number;
  /** How the screens of the stack were left, by name, where there is more to say than the name. */
  left?: Readonly<Record<string, ScreenView>>;
  hint?: string;
  /** The page of the hint, when it is not the first. */
  hintPage?: number;
  /** Answers and what actions reported, by name. Never a secret. */
  values: Readonly<Record<string, string>>;
  /** Secret answers, as the index of their part in the accumulated text. */
  secrets: Readonly<Record<string, number>>;
  language: string;
  account?: string;
  /** The first screen of the first dial of this phone. */
  isNewcomer?: true;
  /** A form this phone left unfinished, as it was when the session was opened. */
  resume?: FormSnapshot;
  /** Where the login under way leads to, once it is done. */
  afterLogin?: Place;
  /** The sub-flows and loops under way, the innermost last. */
  frames?: readonly Frame[];
  /** What was typed to shorten the list that is shown. */
  search?: string;
  /** The ODK form that the dialogue is in. */
  form?: OpenForm;
  /** Who calls, and when. Comes with every request and is not kept. */
  caller?: Caller;
}

export interface ScreenView extends Partial<Pick<Dialogue, 'page' | 'search' | 'isNewcomer'>> {
  secrets?: Readonly<Record<string, number>>;
}

export interface OpenForm {
  /** The state of kind `form`. */
  state: string;
  progress: FormProgress;
  screen: FormScreen;
}

export interface Caller {
  phoneNumber: string;
  now: number;
  /** What the expressions of a key press may still compute; a new one where there is none. */
  budget?: ExpressionBudget | undefined;
}

export interface Frame {
  /** The state of kind `call` or `each`. */
  state: string;
  /** How many screens were behind when it began: Back past them leaves it. */
  depth: number;
  /** The item of an `each` that is under way. */
  index?: number;
}

export interface Place {
  state: string;
  stack: readonly string[];
  values: Readonly<Record<string, string>>;
  frames?: readonly Frame[];
  form?: OpenForm;
}

export interface FormSnapshot extends Place {
  /** The name of the program it belongs to. */
  program?: string;
  /** The form was filled in by someone who had logged in, and asks for it again. */
  authenticated?: true;
}

/**
 * The form that the dialogue is in, ready to continue at its last unanswered question, or at the first secret one,
 * since secrets are not kept. Nothing answered yet means nothing to continue.
 */
export function toFormSnapshot(menu: Menu, dialogue: Dialogue): FormSnapshot | undefined {
  const asks = (name: string) => isQuestion(menu.states.get(name));
  if (!dialogue.afterLogin && !asks(dialogue.state) && !dialogue.stack.some(asks)) return undefined;
  const place = toSnapshot(menu, dialogue);
  if (!place || !asks(place.state)) return undefined;
  const answered = place.stack.some(asks) || place.form?.progress.begun;
  return answered ? place : undefined;
}

/** Any screen, with all that was answered before it, ready to continue; where secrets were asked, the first of them. */
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
  const stack = screens.slice(0, upTo);
  if (state === undefined) return undefined;
  const form = dialogue.form?.state === state ? dialogue.form : undefined;
  const frames = dialogue.frames?.filter(({ depth }) => depth <= stack.length);
  return {
    state,
    stack,
    values,
    ...(frames && { frames }),
    ...(form && { form }),
    ...((afterLogin || account !== undefined) && { authenticated: true }),
  };
}

/** A login may precede an action, which is not a screen to return to. */
function toLastQuestion(menu: Menu, { stack, state }: Place): string[] {
  const screens = [...stack, state];
  return screens.slice(0, screens.findLastIndex((name) => isQuestion(menu.states.get(name))) + 1);
}

/** The screen becomes the nearest that Back leads to, with the secrets that were known before its own answer. */
export function leaveScreen(dialogue: Dialogue, secrets = dialogue.secrets): Dialogue {
  const { state, stack, page, search, isNewcomer } = dialogue;
  const view: ScreenView = {
    ...(page > 0 && { page }),
    ...(search !== undefined && { search }),
    ...(isNewcomer && { isNewcomer }),
    ...(!isEmpty(secrets) && { secrets }),
  };
  return withViews({ ...dialogue, stack: [...stack, state] }, { ...dialogue.left, [state]: view });
}

export function withoutView(dialogue: Dialogue, state: string): Dialogue {
  return withViews(dialogue, { ...dialogue.left, [state]: {} });
}

/** Also of the screens that Back leads through. */
export function forgetSecrets(dialogue: Dialogue): Dialogue {
  const { left = {}, stack } = dialogue;
  const views = stack.map((name): [string, ScreenView] => {
    const { secrets: _, ...view } = left[name] ?? {};
    return [name, view];
  });
  return withViews({ ...dialogue, secrets: {} }, Object.fromEntries(views));
}

function withViews({ left: _, ...dialogue }: Dialogue, views: Record<string, ScreenView>): Dialogue {
  const left = Object.fromEntries(Object.entries(views).filter(([, view]) => !isEmpty(view)));
  return isEmpty(left) ? dialogue : { ...dialogue, left };
}

function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0;
}
