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

/** Computes an expression of the menu over the values of a dialogue; `extra` are names of the moment, such as `answer`. */
export function evaluate(
  menu: Menu,
  dialogue: Dialogue,
  source: string,
  extra: Record<string, CelInput> = {},
): CelValue | undefined {
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

function valuesFor({ names }: Expression, menu: Menu, dialogue: Dialogue, extra: Record<string, CelInput> = {}) {
  const { caller, language, account } = dialogue;
  const values: Record<string, CelInput> = {};
  for (const name of names) {
    if (Object.hasOwn(extra, name)) values[name] = extra[name] as CelInput;
    else if (name === 'today') values[name] = todayOf(dialogue);
    else if (name === 'caller')
      values[name] = { phone: caller?.phoneNumber ?? '', language, authenticated: account !== undefined };
    else values[name] = toExpressionValue(dialogue.values[name], menu.types.get(name) ?? 'any');
  }
  return values;
}

export function holds(menu: Menu, dialogue: Dialogue, source: string, extra?: Record<string, CelInput>): boolean {
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

export function todayOf({ caller }: Dialogue): string {
  return new Date(caller?.now ?? 0).toISOString().slice(0, 10);
}
