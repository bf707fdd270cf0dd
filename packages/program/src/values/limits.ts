import { isCelList, isCelMap } from '@bufbuild/cel';

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

const sumLengths = (values: Values) => Object.values(values).reduce((sum, value) => sum + value.length, 0);

// CEL has no loops without an end, but loops over lists multiply: two over a list of 5,000 block every caller for a minute.

export type ExpressionBudget = ReturnType<typeof createExpressionBudget>;

export const createExpressionBudget = () => ({
  rounds: 50_000,
  /** Of this thread's processor time: a round takes longer the more text it looks through. */
  microseconds: 500_000,
  /** The processor time at which they are used up; 0 between two expressions, while others are served. */
  endsAt: 0,
  /** The wall-clock time, in milliseconds, before which the processor time need not be read again. */
  readAt: 0,
});

interface Host {
  process?: { threadCpuUsage?(): { user: number; system: number } };
}

/** On a busy machine wall-clock time would end a short loop. Browsers and Node 22 have nothing else. */
function spentMicroseconds(): number {
  const { threadCpuUsage } = (globalThis as Host).process ?? {};
  if (!threadCpuUsage) return performance.now() * 1_000;
  const { user, system } = threadCpuUsage();
  return user + system;
}

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
