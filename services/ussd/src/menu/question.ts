import { phoneNumberPattern } from '@palaver/contract';
import type { Question, Validation } from './menu.ts';
import { isFullMatch } from './pattern.ts';

export interface QuestionContext {
  phoneNumber: string;
  /** Of the request, as 2026-11-17. */
  today: string;
}

type Parsed = { value: string; number?: number; labels?: string[] } | undefined;

const typeHints = {
  text: 'hint.text',
  integer: 'hint.integer',
  decimal: 'hint.decimal',
  date: 'hint.date',
  phone: 'hint.phone',
  choice: 'hint.choice',
  choices: 'hint.choices',
} as const;

export type QuestionType = keyof typeof typeHints;
export const questionTypes = Object.keys(typeHints) as [QuestionType, ...QuestionType[]];
const rangeHint = 'hint.range';
const textLimit = 160;

/** Texts that the bundled locales hold for programs that extend them. */
export const questionTexts: readonly string[] = [
  ...Object.values(typeHints),
  rangeHint,
  'common.skip',
  'common.search',
  'hint.noMatch',
];

/** What an answer to a typed question is kept as, or the hint that refuses it. `check` is for the engine. */
export function parseAnswer(question: Question, input: string, context: QuestionContext): Validation {
  const parsed = parsers[question.type](input, question, context);
  const refuse = (hint: string): Validation => ({ ok: false, hint: question.hint ?? hint });
  if (!parsed) return refuse(typeHints[question.type]);
  if (question.pattern !== undefined && !isFullMatch(question.pattern, parsed.value))
    return refuse(typeHints[question.type]);
  const [min, max] = [question.min, question.max].map((limit) => (limit === 'today' ? context.today : limit));
  const size = question.type === 'date' ? parsed.value : parsed.number;
  const isOut = (min !== undefined && below(size, min)) || (max !== undefined && below(max, size));
  if (size !== undefined && isOut) return refuse(rangeHintOf(question));
  return { ok: true, value: parsed.value, ...(parsed.labels && { labels: parsed.labels }) };
}

/** Every hint that a question may give, so that the checker asks for the texts. */
export function hintsOf(question: Question): string[] {
  const own = question.hint === undefined ? [typeHints[question.type]] : [question.hint];
  const range = question.hint === undefined && rangeHintOf(question) === rangeHint ? [rangeHint] : [];
  return [...own, ...range, ...(question.check ? [question.check.hint] : [])];
}

/** Both limits are needed to say them. */
function rangeHintOf({ type, min, max }: Question): string {
  return min !== undefined && max !== undefined && min !== 'today' && max !== 'today' && type !== 'choices'
    ? rangeHint
    : typeHints[type];
}

/** Whether `0` is a possible answer, so that Back needs another key. */
export function takesZero({ type, min, max, pattern }: Question): boolean {
  if (type === 'integer' || type === 'decimal')
    return (min === undefined || Number(min) <= 0) && (max === undefined || Number(max) >= 0);
  return type === 'text' && pattern !== undefined && isFullMatch(pattern, '0');
}

function below(one: string | number | undefined, other: string | number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}

const parsers: Record<QuestionType, (input: string, question: Question, context: QuestionContext) => Parsed> = {
  text(input, { length }) {
    const value = input.normalize('NFC').replace(/\s+/g, ' ');
    const count = [...value].length;
    return count >= (length?.min ?? 1) && count <= (length?.max ?? textLimit) ? { value } : undefined;
  },
  integer(input) {
    const match = /^([-+]?)0*(\d{1,15})$/.exec(input.replace(/\s/g, ''));
    if (!match) return undefined;
    const number = Number(`${match[1]}${match[2]}`) || 0;
    return { value: String(number), number };
  },
  decimal(input) {
    const match = /^([-+]?\d{1,12})(?:[.,](\d{1,6}))?$/.exec(input.replace(/\s/g, ''));
    if (!match) return undefined;
    const number = Number(`${match[1]}.${match[2] ?? 0}`) || 0;
    return { value: String(number), number };
  },
  date(input) {
    const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(input);
    const local = /^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4})$/.exec(input) ?? /^(\d{2})(\d{2})(\d{4})$/.exec(input);
    const [year, month, day] = iso ? iso.slice(1) : (local?.slice(1).reverse() ?? []);
    const value = `${year}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`;
    const time = Date.parse(`${value}T00:00:00Z`);
    // 31 February is the 3rd of March to a Date.
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value) ? { value } : undefined;
  },
  phone(input, _, { phoneNumber }) {
    const digits = input.replace(/[\s().-]/g, '').replace(/^00/, '+');
    const own = phoneNumber.slice(1);
    // A national number has the caller's country code, when both have the same length.
    const value = /^0[1-9]\d+$/.test(digits)
      ? `+${own.slice(0, Math.max(0, own.length - digits.length + 1))}${digits.slice(1)}`
      : digits;
    return phoneNumberPattern.test(value) ? { value } : undefined;
  },
  choice(input, { options = [] }) {
    const option = /^\d+$/.test(input) ? options[Number(input) - 1] : undefined;
    return option && { value: option.value, labels: [option.text] };
  },
  choices(input, { options = [], min, max }) {
    // `13` is 1 and 3 where no option has two digits.
    const keys = options.length < 10 ? input.match(/\d/g) : input.match(/\d+/g);
    if (!keys || /[^\d\s,.;-]/.test(input)) return undefined;
    const chosen = [...new Set(keys)].map((key) => options[Number(key) - 1]);
    if (chosen.length < Number(min ?? 1) || chosen.length > Number(max ?? options.length)) return undefined;
    const found = chosen.flatMap((option) => option ?? []);
    return found.length === chosen.length
      ? { value: found.map(({ value }) => value).join(' '), labels: found.map(({ text }) => text) }
      : undefined;
  },
};
