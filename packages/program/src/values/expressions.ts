import {
  type CelInput,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celListConcat,
  celMethod,
  isCelError,
  listType,
  parse,
  plan,
} from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { ExpressionFault, inferType, type ResultType, type Scope } from './infer-type.ts';
import { type ExpressionBudget, joinLimited, refuseTooLong, takeRound, takeTime, useUp } from './limits.ts';
import { hasMatch } from './pattern.ts';

/** A compiled expression; `undefined` when it cannot be computed, as for a division by zero. */
export interface Expression {
  type: ResultType;
  names: readonly string[];
  prepare(): void;
  run(values: Record<string, CelInput>, budget: ExpressionBudget): CelValue | undefined;
}

export class ExpressionLimit extends Error {
  override readonly name = 'ExpressionLimit';
}

const { BOOL, BYTES, DOUBLE, INT, STRING, DYN } = CelScalar;
const list = listType(DYN);
const dayMs = 86_400_000;

const arithmetic: Record<string, (one: number, other: number) => number> = {
  '_+_': (one, other) => one + other,
  '_-_': (one, other) => one - other,
  '_*_': (one, other) => one * other,
  '_/_': (one, other) => one / other,
  '_%_': (one, other) => one % other,
};

// CEL does not mix whole and decimal numbers; designers of programs do.
const mixed = Object.entries(arithmetic).flatMap(([name, compute]) => [
  celFunc(name, [DOUBLE, INT], DOUBLE, (one, other) => compute(one, Number(other))),
  celFunc(name, [INT, DOUBLE], DOUBLE, (one, other) => compute(Number(one), other)),
]);

const mostPlaces = 6;

/** Rounds the decimal digits, so that 1.005 gives 1.01 although its binary number is below 1.005. */
function roundTo(value: number, places: number): number {
  const digits = Math.min(Math.max(places, 0), mostPlaces);
  const rounded = Number(`${Math.round(Number(`${value}e${digits}`))}e-${digits}`);
  return Number.isNaN(rounded) ? value : rounded;
}

const rounding = [DOUBLE, INT].flatMap((type) => [
  celFunc('round', [type], DOUBLE, (value) => roundTo(Number(value), 0)),
  celFunc('round', [type, INT], DOUBLE, (value, places) => roundTo(Number(value), Number(places))),
]);

const toDate = (text: string) => Date.parse(`${text}T00:00:00Z`);
const toText = (time: number) => new Date(time).toISOString().slice(0, 10);

// Evaluation is synchronous, so there is one budget at a time.
let spending: ExpressionBudget;

/** The functions that loops call before each round and that new lists and records pass. No expression can write these names. */
const [roundFunction, madeFunction] = ['@round', '@made'];

const env = celEnv({
  funcs: [
    celFunc(roundFunction, [], BOOL, () => takeRound(spending)),
    celFunc(madeFunction, [DYN], DYN, (made) => refuseTooLong(made)),
    // These replace CEL's own functions, which have no limit.
    celFunc('_+_', [STRING, STRING], STRING, (one, other) => joinLimited(one, other, (a, b) => a + b)),
    celFunc('_+_', [list, list], list, (one, other) => joinLimited(one, other, (a, b) => celListConcat(a, b))),
    celFunc('_+_', [BYTES, BYTES], BYTES, (one, other) =>
      joinLimited(one, other, (a, b) => Uint8Array.from([...a, ...b])),
    ),
    celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
      return takeRound(spending) && (hasMatch(pattern, this) ?? useUp(spending));
    }),
    ...mixed,
    ...rounding,
    celFunc('_%_', [DOUBLE, DOUBLE], DOUBLE, (one, other) => one % other),
    celFunc('addDays', [STRING, INT], STRING, (date, days) => toText(toDate(date) + Number(days) * dayMs)),
    celFunc('daysBetween', [STRING, STRING], INT, (from, to) =>
      BigInt(Math.round((toDate(to) - toDate(from)) / dayMs)),
    ),
    celFunc('sum', [list], DOUBLE, (items) =>
      takeTime(spending) ? [...items].reduce<number>((sum, item) => sum + Number(item), 0) : 0,
    ),
  ],
});

export function compileExpression(source: string, scope: Scope): Expression {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(source);
  } catch (error) {
    const reason = (error as Error).message.replace(/^<input>:\d+:/, 'at character ');
    throw new ExpressionFault(`cannot be read: ${reason}`);
  }
  const type = inferType(parsed.expr, scope);
  const names = [...new Set(namesIn(parsed.expr))];
  return restoreExpression(source, { type, names }, compile(parsed));
}

function compile(parsed: ReturnType<typeof parse>): ReturnType<typeof plan> {
  meterExpression(parsed.expr);
  return plan(env, parsed);
}

/** Without `compiled`, one that was checked before, in another thread: it is compiled when it is first used. */
export function restoreExpression(
  source: string,
  known: Pick<Expression, 'type' | 'names'>,
  compiled?: ReturnType<typeof compile>,
): Expression {
  const prepare = () => {
    compiled ??= compile(parse(source));
    return compiled;
  };
  return {
    ...known,
    prepare,
    run(values, budget) {
      spending = budget;
      const result = prepare()(values);
      if (budget.rounds < 0) throw new ExpressionLimit(`the expression ${source} takes too long`);
      return isCelError(result) || (typeof result === 'number' && !Number.isFinite(result)) ? undefined : result;
    },
  };
}

function* namesIn(expr: Expr | undefined): Generator<string> {
  if (expr?.exprKind.case === 'identExpr') yield expr.exprKind.value.name;
  for (const part of expr ? partsOf(expr) : []) yield* namesIn(part);
}

/** The parts of an expression, without the condition of a loop: that one is metered. */
function partsOf({ exprKind: { case: kind, value } }: Expr): readonly (Expr | undefined)[] {
  if (kind === 'selectExpr') return [value.operand];
  if (kind === 'listExpr') return value.elements;
  if (kind === 'callExpr') return [value.target, ...value.args];
  if (kind === 'structExpr') return value.entries.map((entry) => entry.value);
  return kind === 'comprehensionExpr' ? [value.iterRange, value.accuInit, value.loopStep, value.result] : [];
}

/** Makes every loop of an expression ask before each round, and limits the lists and records it makes. */
function meterExpression(expr: Expr | undefined): void {
  if (!expr) return;
  for (const part of partsOf(expr)) meterExpression(part);
  const { case: kind, value } = expr.exprKind;
  if (kind === 'comprehensionExpr') {
    const args = [toCall(expr.id, roundFunction, []), ...(value.loopCondition ? [value.loopCondition] : [])];
    value.loopCondition = toCall(expr.id, '_&&_', args);
  }
  // A list or record of one part is hardly longer than the part.
  const parts = kind === 'listExpr' ? value.elements : kind === 'structExpr' ? value.entries : [];
  if (parts.length > 1) expr.exprKind = toCall(expr.id, madeFunction, [{ ...expr }]).exprKind;
}

function toCall(id: bigint, name: string, args: Expr[]): Expr {
  const value = { $typeName: 'cel.expr.Expr.Call' as const, function: name, args };
  return { $typeName: 'cel.expr.Expr', id, exprKind: { case: 'callExpr', value } };
}
