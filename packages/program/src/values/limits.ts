const textLimit = 160;

/** Said where an answer is outside the limits. A program that has no such text shows the hint of the type. */
export const limitHints: readonly string[] = [
  'hint.range',
  'hint.atLeast',
  'hint.atMost',
  'hint.dateFrom',
  'hint.dateUntil',
  'hint.length',
  'hint.count',
];

/** What of a question limits an answer. */
interface LimitedQuestion {
  type: string;
  min?: number | string;
  max?: number | string;
  length?: { min?: number; max?: number };
  options?: readonly unknown[];
}

interface Limits {
  min?: number | string | undefined;
  max?: number | string | undefined;
}

/** Both are possible answers. Of a text they are numbers of characters, of choices how many are chosen. */
export function limitsOf({ type, min, max, length, options }: LimitedQuestion, today: string): Limits {
  if (type === 'text') return { min: length?.min ?? 1, max: length?.max ?? textLimit };
  if (type === 'choices') return { min: min ?? 1, max: max ?? options?.length };
  return { min: min === 'today' ? today : min, max: max === 'today' ? today : max };
}

export function limitHintOf({ type, min, max }: LimitedQuestion): string {
  if (type === 'text') return 'hint.length';
  if (type === 'choices') return 'hint.count';
  if (min !== undefined && max !== undefined) return 'hint.range';
  if (type === 'date') return min === undefined ? 'hint.dateUntil' : 'hint.dateFrom';
  return min === undefined ? 'hint.atMost' : 'hint.atLeast';
}

/** The limits as hints name them, dates as callers type them. */
export function limitValues(question: LimitedQuestion, today: string): Record<string, string> {
  const { min, max } = limitsOf(question, today);
  return {
    ...(min !== undefined && { 'question.min': toShown(min) }),
    ...(max !== undefined && { 'question.max': toShown(max) }),
  };
}

function toShown(limit: number | string): string {
  return typeof limit === 'number' ? String(limit) : limit.split('-').reverse().join('/');
}
