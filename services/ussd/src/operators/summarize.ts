import type { QuestionSummary } from '@palaver/contract/internal';
import type { Result } from './results.ts';

const maxQuestions = 60;
const maxDistinct = 5_000;
const shownValues = 12;
const maxBins = 10;
const maxValueLength = 80;

export async function summarize(pieces: AsyncIterable<Result[]>, maxResults: number) {
  const days = new Map<string, number>();
  const questions = new Map<string, Map<string, number>>();
  let count = 0;
  for await (const piece of pieces) {
    for (const { createdAt, values } of piece.slice(0, maxResults - count)) {
      addTo(days, createdAt.slice(0, 10));
      for (const [name, value] of Object.entries(values)) countAnswer(questions, name, value);
    }
    count = Math.min(count + piece.length, maxResults);
    if (count >= maxResults) break;
  }
  return {
    count,
    days: toDays(days),
    questions: Array.from(questions, ([name, counts]) => summarizeQuestion(name, counts)),
  };
}

function countAnswer(questions: Map<string, Map<string, number>>, name: string, value: string): void {
  let counts = questions.get(name);
  if (!counts) {
    if (questions.size >= maxQuestions) return;
    counts = new Map();
    questions.set(name, counts);
  }
  const text = value.trim().slice(0, maxValueLength);
  if (text !== '' && (counts.has(text) || counts.size < maxDistinct)) addTo(counts, text);
}

const numberPattern = /^-?(?:\d{1,15}|\d{1,9}\.\d{1,6})$/;
const datePattern = /^\d{4}-\d\d-\d\d(?:T|$)/;

function summarizeQuestion(name: string, counts: Map<string, number>): QuestionSummary {
  const entries = Array.from(counts, ([value, count]) => ({ value, count }));
  const answered = entries.reduce((sum, { count }) => sum + count, 0);
  const isEvery = (pattern: RegExp) => entries.length > 0 && entries.every(({ value }) => pattern.test(value));
  // A leading zero belongs to codes and numbers of people, which nobody adds up.
  if (isEvery(numberPattern) && !entries.some(({ value }) => /^-?0\d/.test(value)) && entries.length > 2)
    return { name, answered, kind: 'numbers', ...toHistogram(entries, answered) };
  if (isEvery(datePattern)) {
    const days = new Map<string, number>();
    for (const { value, count } of entries) addTo(days, value.slice(0, 10), count);
    return { name, answered, kind: 'dates', days: toDays(days) };
  }
  if (entries.length > shownValues && entries.length > answered / 2)
    return { name, answered, kind: 'texts', distinct: entries.length };
  const values = entries.sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
  const shown = values.slice(0, shownValues);
  return {
    name,
    answered,
    kind: 'choices',
    values: shown,
    others: answered - shown.reduce((sum, { count }) => sum + count, 0),
  };
}

function toHistogram(entries: { value: string; count: number }[], answered: number) {
  const sorted = entries
    .map(({ value, count }) => ({ value: Number(value), count }))
    .sort((one, other) => one.value - other.value);
  const [least, most] = [sorted[0]?.value ?? 0, sorted.at(-1)?.value ?? 0];
  const isWhole = sorted.every(({ value }) => Number.isInteger(value));
  const width = Math.max(toRoundWidth((most - least) / maxBins), isWhole ? 1 : 0);
  const first = Math.floor(least / width) * width;
  const bins = Array.from({ length: Math.floor((most - first) / width) + 1 }, (_, i) => ({
    from: tidy(first + i * width),
    // The last number of a bin of whole numbers, and where others end.
    to: tidy(first + (i + 1) * width - (isWhole ? 1 : 0)),
    count: 0,
  }));
  let before = 0;
  let median = least;
  for (const { value, count } of sorted) {
    const bin = bins[Math.min(Math.floor((value - first) / width), bins.length - 1)];
    if (bin) bin.count += count;
    if (before < answered / 2) median = value;
    before += count;
  }
  const sum = sorted.reduce((total, { value, count }) => total + value * count, 0);
  return { bins, median, mean: Number((sum / answered).toFixed(2)) };
}

/** Rounds up to 1, 2, 5, 10, 20 … */
function toRoundWidth(width: number): number {
  if (width <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(width));
  return ([1, 2, 5, 10].find((factor) => factor * power >= width * 0.999) ?? 10) * power;
}

const tidy = (value: number) => Number(value.toFixed(9));

function toDays(counts: Map<string, number>) {
  return Array.from(counts, ([day, count]) => ({ day, count })).sort((one, other) => (one.day < other.day ? -1 : 1));
}

function addTo(counts: Map<string, number>, key: string, count = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
