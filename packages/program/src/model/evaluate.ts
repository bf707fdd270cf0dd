import type { CelInput, CelValue } from '@bufbuild/cel';
import type { Expression } from '../values/expressions.ts';
import { maxTextLength } from '../values/limit-values.ts';
import { createExpressionBudget, type ExpressionBudget, pauseBudget, takeTime } from '../values/meter-expression.ts';
import { fromExpressionValue, parseJson, toExpressionValue } from '../values/value-types.ts';
import type { Dialogue } from './dialogue.ts';
import type { Menu } from './menu.ts';

/** Computes an expression of the menu over the values of a dialogue; `extra` are names of the moment, such as `answer`. */
export function evaluate(
  menu: Menu,
  dialogue: Dialogue,
  source: string,
  extra: Record<string, CelInput> = {},
): CelValue | undefined {
  const expression = findExpression(menu, source);
  const budget = budgetOf(dialogue);
  takeTime(budget);
  const value = expression.run(valuesFor(expression, menu, dialogue, extra), budget);
  pauseBudget(budget);
  return value;
}

/** Without a caller each expression has its own. */
function budgetOf({ caller }: Dialogue): ExpressionBudget {
  if (!caller) return createExpressionBudget();
  caller.budget ??= createExpressionBudget();
  return caller.budget;
}

function findExpression(menu: Menu, source: string): Expression {
  const expression = menu.expressions.get(source);
  if (!expression) throw new Error(`the expression ${source} is not compiled`);
  return expression;
}

function valuesFor({ names }: Expression, menu: Menu, dialogue: Dialogue, extra: Record<string, CelInput> = {}) {
  const values: Record<string, CelInput> = {};
  for (const name of names) {
    if (Object.hasOwn(extra, name)) values[name] = extra[name] as CelInput;
    else if (name === 'today') values[name] = todayOf(dialogue);
    else if (name === 'caller') values[name] = toCaller(dialogue);
    else values[name] = toExpressionValue(dialogue.values[name], menu.types.get(name) ?? 'any');
  }
  return values;
}

export function holds(menu: Menu, dialogue: Dialogue, source: string, extra?: Record<string, CelInput>): boolean {
  return evaluate(menu, dialogue, source, extra) === true;
}

/** The rows that a `where` holds for. */
export function filterRows<Row>(
  menu: Menu,
  dialogue: Dialogue,
  { rows, where, toRow }: { rows: readonly Row[]; where: string; toRow(row: Row): CelInput },
): Row[] {
  const expression = findExpression(menu, where);
  const values = valuesFor(expression, menu, dialogue);
  const budget = budgetOf(dialogue);
  const found = rows.filter((row) => {
    takeTime(budget);
    return expression.run({ ...values, row: toRow(row) }, budget) === true;
  });
  pauseBudget(budget);
  return found;
}

export function computeText(menu: Menu, dialogue: Dialogue, source: string): string {
  const value = evaluate(menu, dialogue, source);
  return value === undefined ? '' : (toText(value) ?? '');
}

/** `undefined` if it is too long. */
function toText(value: CelValue): string | undefined {
  const text = fromExpressionValue(value);
  return text.length > maxTextLength ? undefined : text;
}

export function computeFields(menu: Menu, dialogue: Dialogue, fields: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, source]) => {
      const value = evaluate(menu, dialogue, source);
      const text = value === undefined ? undefined : toText(value);
      if (text === undefined) return [name, null];
      return [name, typeof value === 'string' ? value : (parseJson(text) ?? String(value))];
    }),
  );
}

export function todayOf({ caller }: Dialogue): string {
  return new Date(caller?.now ?? 0).toISOString().slice(0, 10);
}

function toCaller({ caller, language, account }: Dialogue): Record<string, CelInput> {
  return { phone: caller?.phoneNumber ?? '', language, authenticated: account !== undefined };
}
