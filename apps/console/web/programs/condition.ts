import { type ProgramModel, sayIn, toRecord } from './read-program.ts';

/** One comparison of a condition; `operator` is a key of `operators`. */
export interface Comparison {
  variable: string;
  operator: Operator;
  value: string;
}

export interface Condition {
  join: '&&' | '||';
  parts: Comparison[];
}

/** A value that conditions compare, as the author knows it. */
export interface Variable {
  name: string;
  label: string;
  /** Of the answer; `any` where it is not known. */
  type: string;
  choices: { value: string; label: string }[];
}

export const operators = ['==', '!=', '>', '>=', '<', '<=', 'in'] as const;
export type Operator = (typeof operators)[number];

const name = String.raw`[A-Za-z]\w*(?:\.[A-Za-z]\w*)*`;
const literal = String.raw`"(?:[^"\\]|\\["\\])*"|-?\d+(?:\.\d+)?|true|false`;
const comparison = new RegExp(`^(${name})\\s*(==|!=|>=|<=|>|<)\\s*(${literal}|${name})$`);
const membership = new RegExp(`^(${literal})\\s+in\\s+(${name})$`);

/** An expression as the rows of a builder; `undefined` where it says more than rows can. */
export function parseCondition(expression: string): Condition | undefined {
  const tokens = expression.trim().match(/"(?:[^"\\]|\\.)*"|&&|\|\||[^"&|]+|[&|]/g) ?? [];
  const joins = new Set(tokens.filter((token) => token === '&&' || token === '||'));
  if (joins.size > 1 || tokens.length === 0) return undefined;
  const [join = '&&'] = joins;
  const texts = [''];
  for (const token of tokens) {
    if (token === join) texts.push('');
    else texts.push(texts.pop() + token);
  }
  const parts = texts.map((text) => parseComparison(text.trim()));
  const known = parts.filter((part) => part !== undefined);
  return known.length === parts.length ? { join: join as Condition['join'], parts: known } : undefined;
}

function parseComparison(text: string): Comparison | undefined {
  const [, variable, operator, value] = comparison.exec(text) ?? [];
  if (variable && operator && value !== undefined) return { variable, operator: operator as Operator, value };
  const [, item, list] = membership.exec(text) ?? [];
  return item !== undefined && list ? { variable: list, operator: 'in', value: item } : undefined;
}

export function printCondition({ join, parts }: Condition): string {
  return parts
    .map(({ variable, operator, value }) =>
      operator === 'in' ? `${value} in ${variable}` : `${variable} ${operator} ${value}`,
    )
    .join(` ${join} `);
}

const isNumeric = (type: string) => type === 'integer' || type === 'decimal';

/** What somebody typed as CEL writes it: a number, another value by its name, or a text in quotes. */
export function toLiteral(typed: string, type: string, names: ReadonlySet<string>): string {
  const text = typed.trim();
  if (names.has(text)) return text;
  if (/^-?\d+(\.\d+)?$/.test(text) && (isNumeric(type) || type === 'any')) return text;
  if ((text === 'true' || text === 'false') && type === 'any') return text;
  return JSON.stringify(text);
}

/** A literal as people read it. */
export function fromLiteral(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

/** Everything that a program keeps and a condition can compare. */
export function listVariables(model: ProgramModel): Variable[] {
  const known = new Map<string, Variable>();
  const add = (name: unknown, type = 'any', label?: string, choices: Variable['choices'] = []) => {
    if (typeof name === 'string' && name !== '' && !known.has(name))
      known.set(name, { name, type, label: label && label !== name ? `${label} (${name})` : name, choices });
  };
  for (const { kind, raw } of model.states.values()) {
    if (kind === 'prompt' && raw.secret !== true)
      add(raw.save, String(raw.type ?? 'text'), sayIn(model, raw.text), toChoices(model, raw.options));
    if (kind === 'set') for (const name of Object.keys(toRecord(raw.values))) add(name);
    for (const name of Object.keys(toRecord(raw.take))) add(name);
    if (kind === 'action' && typeof raw.save === 'string') add(raw.save);
    for (const name of Object.keys(toRecord(raw.total === undefined ? undefined : raw.save))) add(name, 'decimal');
    for (const name of Object.keys(toRecord(toRecord(raw.from).save))) add(name);
  }
  add('today', 'date');
  add('caller.language', 'text');
  add('caller.phone', 'text');
  return [...known.values()];
}

function toChoices(model: ProgramModel, options: unknown): Variable['choices'] {
  if (!Array.isArray(options)) return [];
  return options.map(toRecord).map(({ value, text }) => ({ value: String(value ?? ''), label: sayIn(model, text) }));
}
