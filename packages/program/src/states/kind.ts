import { z } from 'zod';
import {
  type Check,
  type EditorFields,
  textKeySchema,
  type UsedExpression,
  type UsedText,
} from '../actions/keyword.ts';
import type { Dialogue, Input, Step } from '../model/dialogue.ts';
import type { Menu, Option, Registry } from '../model/menu.ts';
import type { ValueType } from '../values/value-types.ts';

export interface Target {
  to: string;
  label: string;
  path: PropertyKey[];
}

export type Declared = Pick<Menu, 'registry' | 'data' | 'records'>;

/** Beside the types of values: an expression whose type follows from others, and an answer that no expression sees. */
export type GivenType = ValueType | 'computed' | 'secret';

export type Say = (key: string, values?: Readonly<Record<string, string>>) => string;

export interface Seen {
  menu: Menu;
  dialogue: Dialogue;
  say: Say;
}

export interface ScreenContent {
  hint: string | undefined;
  body: string;
  lines: { key: string; label: string }[];
}

export interface Course {
  menu: Menu;
  arrive(dialogue: Dialogue, to: string): Step;
  resume(dialogue: Dialogue): Step;
  leaveFlow(dialogue: Dialogue): Step;
  countPages(dialogue: Dialogue): number;
  options(dialogue: Dialogue): Option[];
}

export interface Press extends Course {
  input: Input;
  /** What Back, More and no input at all do on every screen; `undefined` for other inputs. */
  navigate(dialogue: Dialogue): Step | undefined;
}

export interface Kind<S = never> {
  shows: string;
  leadsTo: string;
  schema: z.ZodType<S>;
  targets(state: S): Target[];
  /** The values that it gives, with their types as far as they are known. */
  gives?(state: S, declared: Declared): Iterable<readonly [string, GivenType]>;
  expressions?(state: S): Iterable<UsedExpression>;
  rowFields?(state: S, declared: Declared): Iterable<readonly [string, ValueType]>;
  texts?(state: S, registry: Registry): UsedText[];
  /** The longest texts that a value it gives can have, where its type alone does not say it, and those of its label. */
  longest?(
    state: S,
    name: string,
    seen: Pick<Seen, 'menu' | 'say'> & { language: string },
  ): { values: string[]; labels: string[] };
  check?(state: S, check: Check): void;
  /** It asks something of a form, as opposed to menus that only lead on. */
  isQuestion?(state: S): boolean;
  /** It shows nothing and needs nothing from outside: goes through it. */
  follow?(state: S, dialogue: Dialogue, course: Course): Step;
  /** Continues after the sub-flow or loop that this state began. */
  comeBack?(state: S, dialogue: Dialogue, course: Course & { index: number }): Step;
  enter?(state: S, dialogue: Dialogue, course: Course): Step;
  press?(state: S, dialogue: Dialogue, press: Press): Step;
  backKey?(state: S, menu: Menu, dialogue: Dialogue): string;
  options?(state: S, menu: Menu, dialogue: Dialogue): Option[];
  content?(state: S, seen: Seen): ScreenContent;
  summary?(state: S): string;
  outline: readonly [string, string];
  editor: EditorFields;
}

export const guarded = { requires: z.literal('authenticated').exactOptional() };
export const screen = { text: textKeySchema, back: z.boolean().default(true), ...guarded };

export const at = (field: string, to: string, label = field): Target => ({ to, label, path: [field] });

export const refuse = (context: z.core.$RefinementCtx, path: string, message: string) =>
  context.addIssue({ code: 'custom', path: [path], message });
