import { isCelList, isCelMap } from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';

// Texts and lists double with each `v + v` and `[v, v]`: without a limit thirty of them need more memory than there is.

type Values = Readonly<Record<string, string>>;

export const maxTextLength = 20_000;
/** The largest list or record in an expression, and all values of a dialogue together. */
const maxAllLength = 200_000;
/** The length of an answer. A value this short is always kept: a program has a limited number of names. */
const shortLength = 160;

/** The lengths of lists and records: one that is in several others is measured once. */
const lengths = new WeakMap<object, number>();

function measure(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const known = lengths.get(value);
  if (known !== undefined) return known;
  let length = 1;
  if (isCelList(value)) for (const item of value) length += measure(item);
  else if (isCelMap(value)) for (const [key, item] of value) length += measure(key) + measure(item);
  else if (value instanceof Uint8Array) length += value.length;
  lengths.set(value, length);
  return length;
}

export function joinLimited<Value>(one: Value, other: Value, join: (one: Value, other: Value) => Value): Value {
  const length = measure(one) + measure(other);
  if (length > (typeof one === 'object' ? maxAllLength : maxTextLength)) throw new Error('too long');
  const joined = join(one, other);
  if (typeof joined === 'object' && joined !== null) lengths.set(joined, length);
  return joined;
}

export function refuseTooLong<Value>(made: Value): Value {
  if (measure(made) > maxAllLength) throw new Error('too long');
  return made;
}

export function addValues(values: Values, added: Values = {}): Values {
  const all = { ...values, ...added };
  for (const name in added)
    if ((added[name]?.length ?? 0) > shortLength && sumLengths(all) > maxAllLength) all[name] = '';
  return all;
}

function sumLengths(values: Values): number {
  let length = 0;
  for (const name in values) length += values[name]?.length ?? 0;
  return length;
}

// CEL has no loops without an end, but loops over lists multiply: two over a list of 5,000 block every caller for a minute.

export interface ExpressionBudget {
  rounds: number;
  /** A round takes longer the more text it looks through. In microseconds of this thread's processor time. */
  microseconds: number;
  /** The processor time at which they are used up; 0 while nothing is computed: others may be served between two expressions. */
  endsAt: number;
  /** When the processor time is read next, in milliseconds of wall-clock time: before then it cannot be used up. */
  readAt: number;
}

const maxRounds = 50_000;
const maxMicroseconds = 500_000;

interface Host {
  process?: { threadCpuUsage?(): { user: number; system: number } };
}

/** Wall-clock time would end a short loop on a machine that is busy with something else. Browsers and Node 22 have nothing else. */
function spentMicroseconds(): number {
  const { threadCpuUsage } = (globalThis as Host).process ?? {};
  if (!threadCpuUsage) return performance.now() * 1_000;
  const { user, system } = threadCpuUsage();
  return user + system;
}

export const createExpressionBudget = (): ExpressionBudget => ({
  rounds: maxRounds,
  microseconds: maxMicroseconds,
  endsAt: 0,
  readAt: 0,
});

/** The function that loops call before each round, by a name that no expression can write. */
export const roundFunction = '@round';

/** Takes a round from the budget; false when nothing is left. */
export function takeRound(budget: ExpressionBudget): boolean {
  budget.rounds -= 1;
  return takeTime(budget);
}

/** Uses up the budget, for a computation that would take longer than what is left. */
export function useUp(budget: ExpressionBudget): false {
  budget.rounds = -1;
  return false;
}

/** Takes the time since the last call; false, as after too many rounds, when nothing is left. */
export function takeTime(budget: ExpressionBudget): boolean {
  // Reading the processor time costs as much as several rounds.
  const now = performance.now();
  if (budget.rounds >= 0 && now > budget.readAt) {
    const spent = spentMicroseconds();
    if (budget.endsAt === 0) budget.endsAt = spent + budget.microseconds;
    if (spent >= budget.endsAt) budget.rounds = -1;
    else budget.readAt = now + (budget.endsAt - spent) / 1_000;
  }
  return budget.rounds >= 0;
}

export function pauseBudget(budget: ExpressionBudget): void {
  if (budget.endsAt === 0) return;
  budget.microseconds = Math.max(0, budget.endsAt - spentMicroseconds());
  budget.endsAt = 0;
  budget.readAt = 0;
}

export const madeFunction = '@made';

/** The expressions in an expression, but for the condition of a loop, which is metered. */
export function partsOf({ exprKind: { case: kind, value } }: Expr): readonly (Expr | undefined)[] {
  if (kind === 'selectExpr') return [value.operand];
  if (kind === 'listExpr') return value.elements;
  if (kind === 'callExpr') return [value.target, ...value.args];
  if (kind === 'structExpr') return value.entries.map((entry) => entry.value);
  return kind === 'comprehensionExpr' ? [value.iterRange, value.accuInit, value.loopStep, value.result] : [];
}

/** Makes every loop of an expression ask before each round, and limits the lists and records it makes. */
export function meterExpression(expr: Expr | undefined): void {
  if (!expr) return;
  for (const part of partsOf(expr)) meterExpression(part);
  const { case: kind, value } = expr.exprKind;
  if (kind === 'comprehensionExpr') {
    const args = [toCall(expr.id, roundFunction, []), ...(value.loopCondition ? [value.loopCondition] : [])];
    value.loopCondition = toCall(expr.id, '_&&_', args);
  }
  // One of a single part is hardly longer than the part.
  const parts = kind === 'listExpr' ? value.elements : kind === 'structExpr' ? value.entries : [];
  if (parts.length > 1) expr.exprKind = toCall(expr.id, madeFunction, [{ ...expr }]).exprKind;
}

function toCall(id: bigint, name: string, args: Expr[]): Expr {
  const value = { $typeName: 'cel.expr.Expr.Call' as const, function: name, args };
  return { $typeName: 'cel.expr.Expr', id, exprKind: { case: 'callExpr', value } };
}
