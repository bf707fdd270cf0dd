import { z } from 'zod';
import type { ActionSignature, Menu } from '../model/menu.ts';
import type { Expression } from '../values/expressions.ts';
import type { ValueType } from '../values/value-types.ts';

export const nameSchema = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'must be a name of letters and digits');
/** YAML reads `1` as a number; these fields are its text. */
export const plainText = (pattern: RegExp, message: string) =>
  z
    .union([z.string(), z.int().min(0)])
    .transform(String)
    .pipe(z.string().regex(pattern, message));

export interface Meaning {
  holds: 'expression' | 'text';
  wanted?: 'bool' | 'list';
  /** What an expression sees beside the values of the program. */
  sees?: 'answer' | 'row' | 'status';
  /** Conditions that the engine knows by name. */
  named?: readonly string[];
}

/** What fields of these schemas hold: the check finds expressions and text keys by them. */
const meanings = z.registry<Meaning>();

/** YAML reads `true`, `5` and `amount > 5` as what they are; an expression is always its text. */
export const expression = (meaning: Omit<Meaning, 'holds'> = {}) =>
  z
    .union([z.string().min(1).max(1_000), z.number(), z.boolean()])
    .transform(String)
    .register(meanings, { holds: 'expression', ...meaning });
export const expressionSchema = expression();
export const conditionSchema = expression({ wanted: 'bool' });
const named = ['authenticated', 'anonymous', 'resumable', 'newcomer'];
export const optionCondition = expression({ wanted: 'bool', named });
export const textKeySchema = z
  .string()
  .regex(/^[a-zA-Z][\w]*(\.[\w]+)*$/, 'must be a text key such as main.title')
  .register(meanings, { holds: 'text' });
export const fieldsSchema = z
  .record(nameSchema, expressionSchema)
  .meta({ description: 'An expression for each field' });

export interface UsedField extends Meaning {
  value: string;
  path: PropertyKey[];
}

export function* findFields(schema: z.core.$ZodType, value: unknown, path: PropertyKey[] = []): Generator<UsedField> {
  const meaning = meanings.get(schema);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (value === undefined) return;
  if (meaning) yield { value: String(value), path, ...meaning };
  else if (def.type === 'pipe') yield* findFields(def.in, value, path);
  else if ('innerType' in def) yield* findFields(def.innerType, value, path);
  else
    for (const [name, inner] of Object.entries(value as object)) {
      if (def.type === 'object' && def.shape[name]) yield* findFields(def.shape[name], inner, [...path, name]);
      if (def.type === 'record') yield* findFields(def.valueType, inner, [...path, name]);
      if (def.type === 'array') yield* findFields(def.element, inner, [...path, Number(name)]);
    }
}

export interface CheckedValues {
  types: Map<string, ValueType>;
  expressions: Map<string, Expression>;
  /** An action that does not declare its values may give any. */
  isOpen: boolean;
}

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
  check?(spec: z.infer<Schema>, check: Check): void;
  editor: EditorFields;
}

export const defineAction = <Schema extends z.ZodObject>(keyword: ActionKeyword<Schema>) => keyword;
