import { findLanguageTag } from '@palaver/contract/internal';
import phrases from './phrases.json' with { type: 'json' };
import type { AnswerStyle } from './requests.ts';

type Phrases = (typeof phrases)[keyof typeof phrases];

/** In the language of this request or else of the system prompt, if the model has it. */
export function phrasesFor(system: string, { language }: AnswerStyle = {}): Phrases {
  const named = language && (findLanguageTag(language) ?? language.slice(0, 2).toLowerCase());
  const wanted =
    named ?? /^- Answer in: ([a-z]{2})/m.exec(system)?.[1] ?? /^- Language of the phone: ([a-z]{2})/m.exec(system)?.[1];
  return wanted === 'fr' || wanted === 'sw' ? phrases[wanted] : phrases.en;
}

/** What is said in place of a result; undefined if the tool is not known. */
export function describeResult(say: Phrases, name: string, output: unknown): string | undefined {
  const { done } = say;
  if (name === 'schedule_task') return done.schedule_task.replace('{when}', () => toTime(output));
  if (name === 'list_tasks') return listTasks(output, say.tasks);
  if (name === 'recall') return listFacts(output, say.memories);
  if (name === 'forget' && (output as { forgotten?: number } | null)?.forgotten === 0) return say.forgotNothing;
  // The name is the caller's: it may be one that every object has.
  return Object.hasOwn(done, name) ? done[name as keyof typeof done] : undefined;
}

function toTime(output: unknown): string {
  const { nextRunAt, timezone } = output as { nextRunAt: string; timezone: string };
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: timezone });
  return `${format.format(new Date(nextRunAt))} (${timezone})`;
}

function listTasks(output: unknown, { some, none }: Phrases['tasks']): string {
  const { tasks } = output as { tasks: { id: string; prompt: string; schedule: string }[] };
  if (tasks.length === 0) return none;
  return [some, ...tasks.map(({ id, prompt, schedule }) => `- ${prompt} (${schedule}; ${id})`)].join('\n');
}

function listFacts(output: unknown, { some, none }: Phrases['memories']): string {
  const facts = (output as { memories?: { text?: unknown }[] } | null)?.memories ?? [];
  return facts.length === 0 ? none : [some, ...facts.map(({ text }) => `- ${String(text)}`)].join('\n');
}
