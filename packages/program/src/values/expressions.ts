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
import {
  type ExpressionBudget,
  joinLimited,
  madeFunction,
  meterExpression,
  partsOf,
  refuseTooLong,
  roundFunction,
  takeRound,
  takeTime,
  useUp,
} from './limits.ts';
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

type Arithmetic = [name: string, compute: (one: number, other: number) => number];
const arithmetic: Arithmetic[] = [
  ['_+_', (one, other) => one + other],
  ['_-_', (one, other) => one - other],
  ['_*_', (one, other) => one * other],
  ['_/_', (one, other) => one / other],
  ['_%_', (one, other) => one % other],
];

// CEL does not mix whole and decimal numbers; designers of programs do.
const mixed = arithmetic.flatMap(([name, compute]) => [
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

/** Parses and checks an expression, or throws an `ExpressionFault`. */
export function compileExpression(source: string, scope: Scope): Expression {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(source);
  } catch (error) {
    const reason = (error as Error).message.replace(/^<input>:\d+:/, 'at character ');
    throw new ExpressionFault(`cannot be read: ${reason}`);
  }
  const known = { type: inferType(parsed.expr, scope), names: [...new Set(namesIn(parsed.expr))] };
  const evaluate = compile(parsed);
  return toExpression(source, known, () => evaluate);
}

/** An expression that was checked before, in another thread: it is compiled when it is first used. */
export function restoreExpression(source: string, known: Pick<Expression, 'type' | 'names'>): Expression {
  let evaluate: Evaluate | undefined;
  return toExpression(source, known, () => {
    evaluate ??= compile(parse(source));
    return evaluate;
  });
}

type Evaluate = ReturnType<typeof plan>;

function compile(parsed: ReturnType<typeof parse>): Evaluate {
  meterExpression(parsed.expr);
  return plan(env, parsed);
}

function toExpression(source: string, known: Pick<Expression, 'type' | 'names'>, prepare: () => Evaluate): Expression {
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
