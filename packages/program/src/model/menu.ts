import type { Expression } from '../values/expressions.ts';
import type { ValueType } from '../values/value-types.ts';
import type { FormSource } from './dialogue.ts';
import type { Locales } from './locales.ts';

export const resumeTarget = '@resume';

/** The kinds of states by name: `states/states.ts` fills it from the file of each kind. */
// biome-ignore lint/suspicious/noEmptyInterface: the registry of the kinds extends it
export interface StateKinds {}
export type State = StateKinds[keyof StateKinds];

export interface Option {
  key: string;
  text: string;
  /** Shown in place of a text: a row of a list. */
  label?: string;
  to: string;
  when?: string;
  /** The answers that this choice gives. A menu with such options counts as a question. */
  set?: Record<string, string>;
}

export interface ActionSignature {
  outcomes: readonly string[];
  /** Ends a form: afterwards Back leads to the menu above it, never into its action again. */
  finishes: boolean;
  /** The keys of the texts it shows: the check requires their translations. */
  texts?: readonly string[];
  /** Texts that older locales may lack. */
  optionalTexts?: readonly string[];
  /** The answers that it reads; those in brackets may be missing. */
  answers?: readonly string[];
  /** The values it may give. Without them, not all placeholders and expressions can be checked. */
  values?: Readonly<Record<string, ValueType>>;
}

/** `labels` are the keys of the options that were chosen. */
export type Validation = { ok: true; value: string; labels?: string[] } | { ok: false; hint: string };

export interface Validator {
  hints: readonly string[];
  /** The type of the answer in expressions; a text by default. */
  type?: ValueType;
  /** `answer` gives what was saved under a name, secret answers included. */
  check(input: string, context: { answer(name: string): string | undefined; phoneNumber: string }): Validation;
}

export interface Registry {
  actions: Record<string, ActionSignature>;
  validators: Record<string, Validator>;
  /** Texts that the host shows without a state that names them. */
  texts: readonly string[];
  /** Texts that the host shows where the program has them. */
  optionalTexts?: readonly string[];
  /** Texts that the host may show above any screen, where the program has them. */
  hints?: readonly string[];
  /** Texts with which the host may end any dialogue: each must fit one screen. */
  closings?: readonly string[];
}

export const fieldTypes = ['text', 'integer', 'decimal', 'date', 'phone', 'boolean'] as const;

/** A loaded and checked menu: whatever holds one may trust every name in it. */
export interface Menu {
  /** Name and version of the program, `savings@1f0c2d3e4b5a`. */
  id: string;
  title?: string;
  /** What program.yaml says for its channel, such as service codes: the language does not look inside. */
  channel: { readonly codes?: unknown; readonly keywords?: unknown };
  start: string;
  exit: string;
  login?: string;
  states: ReadonlyMap<string, State>;
  /** Where each state is defined; `inherited` in what the program extends. */
  places: ReadonlyMap<string, { file: string; line: number; inherited?: boolean }>;
  locales: Locales;
  registry: Registry;
  types: ReadonlyMap<string, ValueType>;
  records: Record<string, Record<string, (typeof fieldTypes)[number]>>;
  secrets: readonly string[];
  data: ReadonlyMap<string, DataFile>;
  forms: ReadonlyMap<string, FormSource>;
  expressions: ReadonlyMap<string, Expression>;
}

export const nameOf = (id: string): string => id.slice(0, id.indexOf('@'));

export type Row = Readonly<Record<string, string>>;

export interface DataFile {
  rows: readonly Row[];
  columns: ReadonlyMap<string, ValueType>;
}

/** The items of a list as records, `undefined` for anything else. A plain item becomes a record with the field `value`. */
export function toRows(value: unknown): Row[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((item) => {
    const fields = typeof item === 'object' && item !== null ? item : { value: item };
    return Object.fromEntries(
      Object.entries(fields).map(([name, cell]) => [
        name,
        typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : String(cell ?? ''),
      ]),
    );
  });
}
