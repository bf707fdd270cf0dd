import type { QuestionType } from '../values/keys.ts';
import type { ExpressionBudget } from '../values/limits.ts';
import type { Surface } from '../values/surface.ts';

declare const isSecretRef: unique symbol;

/** Where the host finds a secret answer again. The language keeps it, as JSON, and never looks inside. */
export interface SecretRef {
  readonly [isSecretRef]: true;
}

export interface Place {
  state: string;
  /** The screens that Back leads through, the nearest last. */
  stack: readonly string[];
  values: Readonly<Record<string, string>>;
  /** The sub-flows and loops under way, the innermost last. */
  frames?: readonly Frame[];
  form?: OpenForm;
}

/** The position of a user in the menus. Immutable: the engine returns the next one. */
export interface Dialogue extends Place {
  page: number;
  /** What Back restores on a screen of the stack, by its name. */
  left?: Readonly<Record<string, ScreenView>>;
  hint?: string;
  hintPage?: number;
  secrets: Readonly<Record<string, SecretRef>>;
  language: string;
  account?: string;
  /** The first screen of the first call from this phone. */
  isNewcomer?: true;
  /** The form that this phone left unfinished before the call. */
  resume?: FormSnapshot;
  afterLogin?: Place;
  search?: string;
  /** Given with every request and never stored. */
  caller?: Caller;
}

export type ScreenView = Partial<Pick<Dialogue, 'page' | 'search' | 'isNewcomer' | 'secrets'>>;

export interface OpenForm {
  state: string;
  progress: FormProgress;
  screen: FormScreen;
}

export interface Caller {
  phoneNumber: string;
  now: number;
  /** What the expressions of a key press may still compute; a new one where there is none. */
  budget?: ExpressionBudget | undefined;
  surface?: Surface;
}

export interface Frame {
  state: string;
  /** The length of the stack when it began: Back below it leaves the frame. */
  depth: number;
  index?: number;
}

export interface FormSnapshot extends Place {
  program?: string;
  /** The form was filled in by someone who had logged in, and asks for it again. */
  authenticated?: true;
}

export interface Input {
  value: string;
  /** Kept in place of the value, if the state asks for a secret. */
  ref: SecretRef;
  reveal: Reveal;
}

/** The secret answer behind a reference; `undefined` if the host no longer has it. */
export type Reveal = (ref: SecretRef) => string | undefined;

export function toInput(inputs: readonly string[], index: number): Input {
  return {
    value: inputs[index] ?? '',
    ref: index as unknown as SecretRef,
    reveal: (ref) => inputs[ref as unknown as number],
  };
}

/** What the host must do before the dialogue continues: run the action of its state. */
export interface PendingAction {
  state: string;
  action: string;
  submission?: Submission;
}

export interface Step {
  dialogue: Dialogue;
  pending?: PendingAction;
  /** The form must be asked first what it shows: at its beginning, or after an input. */
  form?: { input?: string };
  ended: boolean;
}

/** Puts the screen on the stack for Back, with the secrets as they were before its own answer. */
export function leaveScreen(dialogue: Dialogue, secrets = dialogue.secrets): Dialogue {
  const { state, stack, search, isNewcomer } = dialogue;
  const page = dialogue.page > 0 ? dialogue.page : undefined;
  const view = { page, search, isNewcomer, secrets: isEmpty(secrets) ? undefined : secrets };
  return withViews({ ...dialogue, stack: [...stack, state] }, { ...dialogue.left, [state]: view });
}

export function withoutView(dialogue: Dialogue, state: string): Dialogue {
  return withViews(dialogue, { ...dialogue.left, [state]: {} });
}

export function forgetSecrets(dialogue: Dialogue): Dialogue {
  const { left = {}, stack } = dialogue;
  const views = stack.map((name) => [name, { ...left[name], secrets: undefined }] as const);
  return withViews({ ...dialogue, secrets: {} }, Object.fromEntries(views));
}

function withViews(dialogue: Dialogue, views: Record<string, ScreenView>): Dialogue {
  const left = Object.fromEntries(Object.entries(views).filter(([, view]) => !isEmpty(view)));
  return { ...dialogue, left: isEmpty(left) ? undefined : left };
}

const isEmpty = (record: object) => Object.values(record).every((value) => value === undefined);

export function stay(dialogue: Dialogue, hint: string): Step {
  return { dialogue: { ...dialogue, hint, hintPage: dialogue.page > 0 ? dialogue.page : undefined }, ended: false };
}

export function forget(dialogue: Dialogue, names: readonly string[]): Dialogue {
  const keep = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name.replace(/\.label$/, ''))));
  return { ...dialogue, values: keep(dialogue.values), secrets: keep(dialogue.secrets) };
}

export interface FormSource {
  xml: string;
  attachments: Readonly<Record<string, string>>;
}

/** A form being filled in, as a session keeps it. The engine's own instance can be rebuilt from it at any time. */
export interface FormProgress {
  id: string;
  /** All answers, as an ODK instance. */
  xml: string;
  at: string;
  search?: string;
  begun?: true;
}

export interface FormHint {
  text?: string;
  /** Otherwise a key into the locales. */
  key?: string;
  values?: Readonly<Record<string, string>>;
}

export type ScreenType =
  | Exclude<QuestionType, 'phone'>
  | 'time'
  | 'dateTime'
  | 'rank'
  | 'note'
  | 'accept'
  | 'another'
  | 'send';

export interface FormScreen {
  type: ScreenType;
  body: string;
  options?: readonly { key: string; label: string }[];
  isLong?: true;
  optional?: true;
  count?: number;
  answer?: string;
  hint?: FormHint;
}

export interface Submission {
  instanceId: string;
  formId: string;
  version: string;
  xml: string;
  /** Every answer and calculation by its path, for lists and tables. */
  answers: Readonly<Record<string, string>>;
  values: Readonly<Record<string, string>>;
}

export type ShownForm = { kind: 'screen'; progress: FormProgress; screen: FormScreen };

/** `left`: Back on the first question. */
export type FormReply = ShownForm | { kind: 'left' } | { kind: 'complete'; submission: Submission };
