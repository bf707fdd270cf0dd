import type { FormSource } from '../forms/protocol.ts';
import type { ActionSignature } from './action-signature.ts';
import { type BuiltIn, type BuiltInName, builtInSignature, type Records } from './built-in-actions.ts';
import type { DataFile } from './data-files.ts';
import type { Expression } from './expressions.ts';
import type { Locales } from './locales.ts';
import type { Question, Validation } from './question.ts';
import type { ValueType } from './value-types.ts';

/** What an option's `when` may ask of the dialogue. */
export const conditions = ['authenticated', 'anonymous', 'resumable', 'newcomer'] as const;
export type Condition = (typeof conditions)[number];

/** Keys the engine answers itself, on every screen. */
export const reservedKeys = { back: '0', backFromZero: '00', skip: '000', more: '98', exit: '*' } as const;

/** The target that takes up the form a phone left unfinished. */
export const resumeTarget = '@resume';

export interface Option {
  key: string;
  text: string;
  /** Shown in place of a text: a row of a list. */
  label?: string;
  to: string;
  /** A condition by name, or an expression. */
  when?: string;
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

/** Where the options of a menu come from: one for each row. */
export interface ListSource {
  csv?: string;
  json?: string;
  /** An expression that gives a list. */
  list?: string;
  /** The field that is shown. */
  text: string;
  /** Which field each answer is. */
  save: Record<string, string>;
  /** An expression over `row`. */
  where?: string;
}

export interface MenuState extends Screen {
  kind: 'menu';
  options: Option[];
  from?: ListSource;
  /** The list is shown only where this holds. */
  when?: string;
  /** Where a row of the list leads. */
  to?: string;
}

export interface PromptState extends Screen {
  kind: 'prompt';
  /** A registered validator; a typed question has none. */
  validator?: string;
  question?: Question;
  optional?: boolean;
  /** The question is asked only where this holds. */
  when?: string;
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
  /** What a built-in action does. */
  spec?: BuiltIn;
  outcomes: Record<string, { to: string; hint?: string }>;
}

/** Asks the questions of an ODK form; its answers are one submission. */
export interface FormState extends Guarded {
  kind: 'form';
  /** A file of the program. */
  form: string;
  /** Answers that become values, by the name of their question. */
  take: Record<string, string>;
  /** Required questions that a keypad cannot answer and that are left out; the submission names them. */
  waive: string[];
  /** The form is asked only where this holds. */
  when?: string;
  to: string;
}

/** Goes where the first condition that holds leads. */
export interface BranchState {
  kind: 'branch';
  when: { that: string; to: string }[];
  else: string;
}

/** Computes values. */
export interface SetState {
  kind: 'set';
  values: Record<string, string>;
  to: string;
}

/** Runs the states from `flow` until one of kind `return`, then continues with `to`. */
export interface CallState {
  kind: 'call';
  flow: string;
  to: string;
}

export interface ReturnState {
  kind: 'return';
}

/** Runs the states from `do` for each item of a list, which has the name `as` in them. */
export interface EachState {
  kind: 'each';
  list: string;
  as: string;
  do: string;
  to: string;
}

export interface EndState {
  kind: 'end';
  text: string;
}

export type ScreenState = MenuState | PromptState | PageState | EndState;
/** States that show nothing and need nothing from outside. */
export type LogicState = BranchState | SetState | CallState | ReturnState | EachState;
export type State = ScreenState | ActionState | FormState | LogicState;

export interface ValidatorContext {
  /** The answer saved under a name, secret ones included. */
  answer(name: string): string | undefined;
  phoneNumber: string;
}

export interface Validator {
  /** Every hint it may give, so that the checker can ask for the translations. */
  hints: readonly string[];
  /** What expressions see of the answer; a text by default. */
  type?: ValueType;
  check(input: string, context: ValidatorContext): Validation;
}

export interface Registry {
  actions: Record<string, ActionSignature>;
  validators: Record<string, Validator>;
  /** Texts that the service shows without a state that names them. */
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
  /** Where each state is defined; `inherited` in what the program extends. */
  places: ReadonlyMap<string, { file: string; line: number; inherited?: boolean }>;
  locales: Locales;
  registry: Registry;
  /** The type of every value that some state may give. */
  types: ReadonlyMap<string, ValueType>;
  records: Records;
  secrets: readonly string[];
  /** The CSV and JSON files of the program, by their path. */
  data: ReadonlyMap<string, DataFile>;
  /** The ODK forms of the program, by their path. */
  forms: ReadonlyMap<string, FormSource>;
  /** By their source. */
  expressions: ReadonlyMap<string, Expression>;
  /** A program keeps values until the caller is back at its start; a menu without a program file until the next menu. */
  isProgram: boolean;
}

export function signatureOf({ action, spec }: ActionState, registry: Registry): ActionSignature | undefined {
  if (spec) return builtInSignature(action as BuiltInName, spec);
  return Object.hasOwn(registry.actions, action) ? registry.actions[action] : undefined;
}

export function isCondition(when: string): when is Condition {
  return conditions.some((condition) => condition === when);
}

export function isLogic(state: State | undefined): state is LogicState {
  return state !== undefined && ['branch', 'set', 'call', 'return', 'each'].includes(state.kind);
}

export function requiresLogin(state: State | undefined): boolean {
  return state !== undefined && 'requires' in state && state.requires === 'authenticated';
}

/** True for the screens that ask something of a form, as opposed to menus that only lead on. */
export function isQuestion(state: State | undefined): boolean {
  if (state?.kind === 'prompt' || state?.kind === 'form') return true;
  return state?.kind === 'menu' && (state.from !== undefined || state.options.some((option) => option.set));
}

/** The name in the id of a program, which is the same in every version. */
export function nameOf(id: string): string {
  return id.slice(0, id.indexOf('@'));
}
