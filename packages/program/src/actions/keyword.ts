import { z } from 'zod';
import { placeholdersOf } from '../model/locales.ts';
import type { ActionSignature, Menu } from '../model/menu.ts';
import type { Expression } from '../values/expressions.ts';
import { suggest } from '../values/fault.ts';
import type { ValueType } from '../values/value-types.ts';

export const nameSchema = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'must be a name of letters and digits');
/** YAML reads `true`, `5` and `amount > 5` as what they are; an expression is always its text. */
export const expressionSchema = z.union([z.string().min(1).max(1_000), z.number(), z.boolean()]).transform(String);
export const textKeySchema = z.string().regex(/^[a-zA-Z][\w]*(\.[\w]+)*$/, 'must be a text key such as main.title');
export const fieldsSchema = z
  .record(nameSchema, expressionSchema)
  .meta({ description: 'An expression for each field' });

export interface UsedExpression {
  source: string;
  path: PropertyKey[];
  wanted?: 'bool' | 'list';
  answer?: ValueType | undefined;
  hasRow?: boolean;
  hasStatus?: boolean;
}

export type UsedText = { key: string; path: PropertyKey[] };

export interface CheckedValues {
  types: Map<string, ValueType>;
  expressions: Map<string, Expression>;
  /** An action that does not declare its values may give any. */
  isOpen: boolean;
}

/** What the check of a state or of its keyword may look at. */
export interface Check extends CheckedValues, Pick<Menu, 'registry' | 'data' | 'records' | 'secrets' | 'forms'> {
  say(path: PropertyKey[], message: string): void;
}

/** What an editor needs to know of a keyword. `{name}`, `{to}`, `{record}` and `{form}` stand for what its user has chosen. */
export interface EditorFields {
  title: string;
  /** The fields of a new one: as few as the check accepts. */
  draft?: Readonly<Record<string, unknown>>;
  texts?: Readonly<Record<string, string>>;
  /** Fields that it need not have, offered empty. */
  offers?: Readonly<Record<string, unknown>>;
}

export interface ActionKeyword<Schema extends z.ZodObject = z.ZodObject> {
  about: string;
  schema: Schema;
  outcomes: Readonly<Record<string, string>>;
  finishes: boolean;
  signature?(spec: z.infer<Schema>): Partial<ActionSignature>;
  expressions?(spec: z.infer<Schema>): UsedExpression[];
  texts?(spec: z.infer<Schema>): UsedText[];
  check?(spec: z.infer<Schema>, check: Check): void;
  editor: EditorFields;
}

export const defineAction = <Schema extends z.ZodObject>(keyword: ActionKeyword<Schema>) => keyword;

/** The expression of a field that need not be there. */
export function expressionIn(source: string | undefined, used: Omit<UsedExpression, 'source'>): UsedExpression[] {
  return source === undefined ? [] : [{ source, ...used }];
}

export function fieldExpressions(fields: Readonly<Record<string, string>> = {}, at = ['fields']): UsedExpression[] {
  return Object.entries(fields).map(([name, source]) => ({ source, path: [...at, name] }));
}

export function checkAddress(keyword: string, address: string, { types, isOpen, say }: Check): void {
  for (const placeholder of placeholdersOf(address))
    if (!isOpen && !types.has(placeholder))
      say([keyword], `there is no value {${placeholder}}${suggest(placeholder, types.keys())}`);
}
