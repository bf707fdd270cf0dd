import { z } from 'zod';
import { type Check, type EditorFields, textKeySchema } from '../actions/keyword.ts';
import type { Dialogue, Input, Step } from '../model/dialogue.ts';
import type { Menu, Option, Registry } from '../model/menu.ts';
import type { ValueType } from '../values/value-types.ts';

export interface Target {
  to: string;
  label: string;
  path: PropertyKey[];
}

export type Declared = Pick<Menu, 'registry' | 'data' | 'records'>;

/** `computed`: the type follows from an expression. `secret`: no expression sees the answer. */
export type GivenType = ValueType | 'computed' | 'secret';

export type Say = (key: string, values?: Readonly<Record<string, string>>) => string;

export interface Seen {
  menu: Menu;
  dialogue: Dialogue;
  say: Say;
}

export interface ScreenContent {
  /** In place of the dialogue's hint. */
  hint?: string | undefined;
  body: string;
  /** In place of the options. */
  lines?: { key: string; label: string }[];
}

export type Move = Pick<Target, 'to'> & { dialogue: Dialogue };

export interface Shown {
  menu: Menu;
  countPages(dialogue: Dialogue): number;
  options(dialogue: Dialogue): Option[];
}

export interface Press extends Shown {
  input: Input;
  /** Handles Back, More and an empty input, which mean the same on every screen; `undefined` for any other input. */
  navigate(dialogue: Dialogue): Step | undefined;
}

export interface Kind<S = never> {
  shows: string;
  leadsTo: string;
  schema: z.ZodType<S>;
  targets(state: S): Target[];
  gives?(state: S, declared: Declared): Iterable<readonly [string, GivenType]>;
  rowFields?(state: S, declared: Declared): Iterable<readonly [string, ValueType]>;
  /** The texts that no field names. */
  texts?(state: S, registry: Registry): { key: string; path: PropertyKey[] }[];
  /** The longest texts of a value and of its label, where the type of the value does not tell. */
  longest?(
    state: S,
    name: string,
    seen: Pick<Seen, 'menu' | 'say'> & { language: string },
  ): { values: string[]; labels: string[] };
  check?(state: S, check: Check): void;
  /** It asks something of a form, as opposed to menus that only lead on. */
  isQuestion?(state: S): boolean;
  /** Goes through a state that shows nothing and needs nothing from outside. `undefined` leaves the sub-flow or round of a loop. */
  follow?(state: S, dialogue: Dialogue, menu: Menu): Move | undefined;
  /** Continues after the sub-flow or loop that this state began. */
  comeBack?(state: S, dialogue: Dialogue, began: { menu: Menu; index: number }): Move;
  enter?(state: S, dialogue: Dialogue, shown: Shown): Step;
  press?(state: S, dialogue: Dialogue, press: Press): Step | Move;
  backKey?(state: S, menu: Menu, dialogue: Dialogue): string;
  options?(state: S, menu: Menu, dialogue: Dialogue): Option[];
  /** Its text and options by default. */
  content?(state: S, seen: Seen): ScreenContent;
  summary?(state: S): string;
  /** How Mermaid draws it: as a rhombus by default. */
  outline?: readonly [string, string];
  editor: EditorFields;
}

export const guarded = { requires: z.literal('authenticated').exactOptional() };
export const screen = { text: textKeySchema, back: z.boolean().default(true), ...guarded };

export const at = (field: string, to: string, label = field): Target => ({ to, label, path: [field] });

export const refuse = (context: z.core.$RefinementCtx, path: string, message: string) =>
  context.addIssue({ code: 'custom', path: [path], message });
