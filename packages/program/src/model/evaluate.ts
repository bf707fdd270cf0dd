import type { CelInput, CelValue } from '@bufbuild/cel';
import type { Expression } from '../values/expressions.ts';
import {
  createExpressionBudget,
  type ExpressionBudget,
  maxTextLength,
  pauseBudget,
  takeTime,
} from '../values/limits.ts';
import { fromExpressionValue, parseJson, toExpressionValue } from '../values/value-types.ts';
import type { Caller, Dialogue } from './dialogue.ts';
import type { Menu } from './menu.ts';

/** Names of the moment, such as `answer`. */
type Extra = Record<string, CelInput>;

export function evaluate(menu: Menu, dialogue: Dialogue, source: string, extra?: Extra): CelValue | undefined {
  const expression = findExpression(menu, source);
  return withBudget(dialogue, (budget) => expression.run(valuesFor(expression, menu, dialogue, extra), budget));
}

/** Computes with what is left for the key press. Without a caller each expression has a budget of its own. */
function withBudget<Value>({ caller = {} as Caller }: Dialogue, compute: (budget: ExpressionBudget) => Value): Value {
  caller.budget ??= createExpressionBudget();
  takeTime(caller.budget);
  const value = compute(caller.budget);
  pauseBudget(caller.budget);
  return value;
}

function findExpression(menu: Menu, source: string): Expression {
  const expression = menu.expressions.get(source);
  if (!expression) throw new Error(`the expression ${source} is not compiled`);
  return expression;
}

function valuesFor({ names }: Expression, menu: Menu, dialogue: Dialogue, extra?: Extra) {
  const { language, account } = dialogue;
  const caller = { phone: dialogue.caller?.phoneNumber ?? '', language, authenticated: account !== undefined };
  const given: Extra = { today: todayOf(dialogue), caller, ...extra };
  const stored = (name: string) => toExpressionValue(dialogue.values[name], menu.types.get(name) ?? 'any');
  const toValue = (name: string) => (Object.hasOwn(given, name) ? given[name] : stored(name)) as CelInput;
  return Object.fromEntries(names.map((name) => [name, toValue(name)]));
}

export function holds(menu: Menu, dialogue: Dialogue, source: string, extra?: Extra): boolean {
  return evaluate(menu, dialogue, source, extra) === true;
}

export function filterRows<Row>(
  menu: Menu,
  dialogue: Dialogue,
  { rows, where, toRow }: { rows: readonly Row[]; where: string; toRow(row: Row): CelInput },
): Row[] {
  const expression = findExpression(menu, where);
  const values = valuesFor(expression, menu, dialogue);
  return withBudget(dialogue, (budget) =>
    rows.filter((row) => {
      takeTime(budget);
      return expression.run({ ...values, row: toRow(row) }, budget) === true;
    }),
  );
}

export function computeText(menu: Menu, dialogue: Dialogue, source: string): string {
  return toText(evaluate(menu, dialogue, source)) ?? '';
}

function toText(value: CelValue | undefined): string | undefined {
  const text = value === undefined ? undefined : fromExpressionValue(value);
  return text !== undefined && text.length > maxTextLength ? undefined : text;
}

export function computeFields(menu: Menu, dialogue: Dialogue, fields: Record<string, string>): Record<string, unknown> {
  const toField = (source: string) => {
    const value = evaluate(menu, dialogue, source);
    const text = toText(value);
    return text === undefined || typeof value === 'string' ? (text ?? null) : (parseJson(text) ?? String(value));
  };
  return Object.fromEntries(Object.entries(fields).map(([name, source]) => [name, toField(source)]));
}

export const todayOf = ({ caller }: Dialogue): string => new Date(caller?.now ?? 0).toISOString().slice(0, 10);
