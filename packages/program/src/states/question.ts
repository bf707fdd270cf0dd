import { phoneNumberPattern } from '@palaver/contract';
import { z } from 'zod';
import { expression, optionCondition, textKeySchema } from '../actions/keyword.ts';
import type { Validation } from '../model/menu.ts';
import { type QuestionType, questionTypes } from '../values/keys.ts';
import { isFullMatch, maxPatternLength, patternFault } from '../values/pattern.ts';

const limitSchema = z
  .union([z.number(), z.string()])
  .refine(
    (limit) => typeof limit === 'number' || limit === 'today' || z.iso.date().safeParse(limit).success,
    'must be a number, a date such as 2026-12-31, or today',
  );
const countSchema = z.int().min(0).max(160);

export const questionFields = {
  type: z.enum(questionTypes).exactOptional(),
  /** The limits of numbers and dates, and of how many may be chosen. */
  min: limitSchema.exactOptional(),
  max: limitSchema.exactOptional(),
  pattern: z
    .string()
    .max(maxPatternLength)
    .superRefine((pattern, context) => {
      const fault = patternFault(pattern);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .exactOptional(),
  length: z
    .union([
      countSchema.transform((max): { min?: number; max?: number } => ({ max })),
      z.strictObject({ min: countSchema.exactOptional(), max: countSchema.exactOptional() }),
    ])
    .exactOptional(),
  check: z.strictObject({ that: expression({ wanted: 'bool', sees: 'answer' }), hint: textKeySchema }).exactOptional(),
  hint: textKeySchema.exactOptional(),
  options: z
    .array(
      z.strictObject({
        text: textKeySchema,
        value: z.string().regex(/^\S{1,60}$/, 'must be one word'),
        when: optionCondition.exactOptional(),
      }),
    )
    .min(1)
    .max(40)
    .exactOptional(),
};

export type Question = z.infer<z.ZodObject<typeof questionFields>> & { type: QuestionType };

export const typeHintOf = (type: QuestionType): string => `hint.${type}`;

export const questionTexts: readonly string[] = [
  ...questionTypes.map(typeHintOf),
  // Shown when an answer is outside the limits. A program without such a text shows the hint of the type.
  ...['hint.range', 'hint.atLeast', 'hint.atMost', 'hint.dateFrom', 'hint.dateUntil', 'hint.length', 'hint.count'],
  ...['common.skip', 'common.search', 'hint.noMatch'],
];

type Context = { phoneNumber: string; today: string };

/** `size` is what limits apply to: a number, a date, how many characters or choices. */
type Parsed = { value: string; size?: number | string; labels?: string[] } | undefined;

/** The value to keep for an answer, or the hint that refuses it. The engine applies `check` afterwards. */
export function parseAnswer(question: Question, input: string, context: Context): Validation {
  const parsed = parsers[question.type](input, question, context);
  const refuse = (hint: string): Validation => ({ ok: false, hint: question.hint ?? hint });
  if (!parsed) return refuse(typeHintOf(question.type));
  const { value, size, labels } = parsed;
  const { min, max } = limitsOf(question, context.today);
  if (isBelow(size, min) || isBelow(max, size)) return refuse(limitHintOf(question));
  if (question.pattern !== undefined && !isFullMatch(question.pattern, value)) return refuse(typeHintOf(question.type));
  return { ok: true, value, labels };
}

export function hintsOf(question: Question): string[] {
  const { type, hint, check } = question;
  return [hint ?? typeHintOf(type), ...(check ? [check.hint] : []), hint ?? limitHintOf(question)];
}

/** The least and the most that are accepted: values, characters of a text, or numbers of choices. */
function limitsOf({ type, min, max, length, options }: Question, today: string) {
  if (type === 'text') return { min: length?.min ?? 1, max: length?.max ?? 160 };
  if (type === 'choices') return { min: min ?? 1, max: max ?? options?.length };
  return { min: min === 'today' ? today : min, max: max === 'today' ? today : max };
}

function limitHintOf({ type, min, max }: Question): string {
  if (type === 'text') return 'hint.length';
  if (type === 'choices') return 'hint.count';
  if (min !== undefined && max !== undefined) return 'hint.range';
  if (type === 'date') return min === undefined ? 'hint.dateUntil' : 'hint.dateFrom';
  return min === undefined ? 'hint.atMost' : 'hint.atLeast';
}

/** The limits by their names in hints, with dates as callers type them. */
export function limitValues(question: Question, today: string): Record<string, string> {
  const limits = Object.entries(limitsOf(question, today)).flatMap(([name, limit]) => {
    const shown = typeof limit === 'string' ? limit.split('-').reverse().join('/') : limit;
    return shown === undefined ? [] : [[`question.${name}`, String(shown)]];
  });
  return Object.fromEntries(limits);
}

/** Whether `0` is a possible answer, so that Back needs another key. */
export function takesZero({ type, min, max, pattern }: Question): boolean {
  if (type === 'integer' || type === 'decimal') return !isBelow(0, min) && !isBelow(max, 0);
  return type === 'text' && pattern !== undefined && isFullMatch(pattern, '0');
}

function isBelow(one: string | number | undefined, other: string | number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}

const parsers: Record<QuestionType, (input: string, question: Question, context: Context) => Parsed> = {
  text(input) {
    const value = input.normalize('NFC').replace(/\s+/g, ' ');
    return { value, size: [...value].length };
  },
  integer: (input) => parseNumber(input, /^([-+]?0*\d{1,15})$/),
  decimal: (input) => parseNumber(input, /^([-+]?\d{1,12})(?:[.,](\d{1,6}))?$/),
  date(input) {
    const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(input);
    const local = /^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4})$/.exec(input) ?? /^(\d{2})(\d{2})(\d{4})$/.exec(input);
    const [year, month, day] = iso ? iso.slice(1) : (local?.slice(1).reverse() ?? []);
    const value = `${year}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`;
    const time = Date.parse(`${value}T00:00:00Z`);
    // 31 February is the 3rd of March to a Date.
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value) ? { value, size: value } : undefined;
  },
  phone(input, _, { phoneNumber }) {
    const digits = input.replace(/[\s().-]/g, '').replace(/^00/, '+');
    const own = phoneNumber.slice(1);
    // A national number gets the caller's country code, if the result is as long as the caller's own number.
    const value = /^0[1-9]\d+$/.test(digits)
      ? `+${own.slice(0, Math.max(0, own.length - digits.length + 1))}${digits.slice(1)}`
      : digits;
    return phoneNumberPattern.test(value) ? { value } : undefined;
  },
  choice(input, { options = [] }) {
    const option = /^\d+$/.test(input) ? options[Number(input) - 1] : undefined;
    return option && { value: option.value, labels: [option.text] };
  },
  choices(input, { options = [] }) {
    // `13` is 1 and 3 where no option has two digits.
    const keys = options.length < 10 ? input.match(/\d/g) : input.match(/\d+/g);
    if (!keys || /[^\d\s,.;-]/.test(input)) return undefined;
    const chosen = [...new Set(keys)].map((key) => options[Number(key) - 1]);
    const found = chosen.flatMap((option) => option ?? []);
    return found.length === chosen.length
      ? { value: found.map(({ value }) => value).join(' '), size: found.length, labels: found.map(({ text }) => text) }
      : undefined;
  },
};

function parseNumber(input: string, pattern: RegExp): Parsed {
  const [, whole, part = '0'] = pattern.exec(input.replace(/\s/g, '')) ?? [];
  if (whole === undefined) return undefined;
  const number = Number(`${whole}.${part}`) || 0;
  return { value: String(number), size: number };
}
