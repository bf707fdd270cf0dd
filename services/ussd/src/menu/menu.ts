import type { Locales } from './locales.ts';

/** What an option's `when` may ask of the dialogue. */
export const conditions = ['authenticated', 'anonymous', 'resumable'] as const;
export type Condition = (typeof conditions)[number];

/** Keys the engine answers itself, on every screen. */
export const reservedKeys = { back: '0', backFromZero: '00', more: '98', exit: '*' } as const;

/** The target that takes up the form a phone left unfinished. */
export const resumeTarget = '@resume';

export interface Option {
  key: string;
  text: string;
  to: string;
  when?: Condition;
  /** Answers this choice gives; a menu with such options is a question of a form. */
  set?: Record<string, string>;
}

/** What a state may ask of the dialogue before it is entered; the menu's `login` comes first where it is not met. */
interface Guarded {
  requires?: 'authenticated';
}

interface Screen extends Guarded {
  text: string;
  /** `false` hides the way back, for screens nothing should be undone from. */
  back: boolean;
}

export interface MenuState extends Screen {
  kind: 'menu';
  options: Option[];
}

export interface PromptState extends Screen {
  kind: 'prompt';
  validator: string;
  save: string;
  /** A secret answer is never kept: only its place in the accumulated text is. */
  secret: boolean;
  to: string;
}

export interface PageState extends Screen {
  kind: 'page';
  options: Option[];
}

export interface ActionState extends Guarded {
  kind: 'action';
  action: string;
  outcomes: Record<string, { to: string; hint?: string }>;
}

export interface EndState {
  kind: 'end';
  text: string;
}

export type State = MenuState | PromptState | PageState | ActionState | EndState;

/** What the engine must know of an action; what it does is the caller's business. */
export interface ActionSignature {
  outcomes: readonly string[];
  /** Ends a form: afterwards Back leads to the menu above it, never into its action again. */
  finishes: boolean;
  /** Texts it says by key, so that the checker asks for their translations. */
  texts?: readonly string[];
}

export type Validation = { ok: true; value: string } | { ok: false; hint: string };

export interface ValidatorContext {
  /** The answer saved under a name, secret ones included. */
  answer(name: string): string | undefined;
  phoneNumber: string;
}

export interface Validator {
  /** Every hint it may give, so that the checker can ask for the translations. */
  hints: readonly string[];
  check(input: string, context: ValidatorContext): Validation;
}

export interface Registry {
  actions: Record<string, ActionSignature>;
  validators: Record<string, Validator>;
  /** Texts the service shows by itself. */
  texts: readonly string[];
}

/** A loaded and checked menu: whatever holds one may trust every name in it. */
export interface Menu {
  /** Name and version of the program, `savings@1f0c2d3e4b5a`. */
  id: string;
  /** The service codes it answers; none of its own means every code that no other program names. */
  codes: readonly string[];
  start: string;
  exit: string;
  /** Where a caller logs in who comes to a state that requires it. */
  login?: string;
  states: ReadonlyMap<string, State>;
  locales: Locales;
  registry: Registry;
  /** A program keeps values until the caller is back at its start; a menu without a program file until the next menu. */
  isProgram: boolean;
}

export function requiresLogin(state: State | undefined): boolean {
  return state !== undefined && 'requires' in state && state.requires === 'authenticated';
}

/** True for the screens that ask something of a form, as opposed to menus that only lead on. */
export function isQuestion(state: State | undefined): boolean {
  return state?.kind === 'prompt' || (state?.kind === 'menu' && state.options.some((option) => option.set));
}

/** The name in the id of a program, which is the same in every version. */
export function nameOf(id: string): string {
  return id.slice(0, id.indexOf('@'));
}
