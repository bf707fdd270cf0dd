import type { QuestionType } from '../values/question.ts';

/** A form and the files beside it. */
export interface FormSource {
  xml: string;
  /** CSV, GeoJSON and XML files by their name. */
  attachments: Readonly<Record<string, string>>;
}

/** A form being filled in, as a session keeps it. The engine's own instance can be rebuilt from it at any time. */
export interface FormProgress {
  id: string;
  /** All answers, as ODK writes an instance. */
  xml: string;
  /** The question shown. */
  at: string;
  /** What was typed to shorten the list of choices. */
  search?: string;
  /** At least one question is answered. */
  begun?: true;
}

export interface FormHint {
  /** A text of the form itself. */
  text?: string;
  /** Otherwise a key into the locales. */
  key?: string;
  values?: Readonly<Record<string, string>>;
}

/** The questions of forms are those of prompts and a few more. */
export type ScreenType =
  | Exclude<QuestionType, 'phone'>
  | 'time'
  | 'dateTime'
  | 'rank'
  | 'note'
  | 'accept'
  | 'another'
  | 'send';

/** What a question of a form shows, before it is laid out on screens. */
export interface FormScreen {
  type: ScreenType;
  body: string;
  /** The choices with their numbers. */
  options?: readonly { key: string; label: string }[];
  /** There are so many choices that the caller may search them. */
  isLong?: true;
  optional?: true;
  /** How many instances a repeat has. */
  count?: number;
  /** The answer it has already, which the caller may keep. */
  answer?: string;
  hint?: FormHint;
}

export interface Submission {
  instanceId: string;
  formId: string;
  version: string;
  xml: string;
  /** Every answer and calculation by its path, for lists and tables. */
  answers: Readonly<Record<string, string>>;
  /** Answers that the program wants. */
  values: Readonly<Record<string, string>>;
}

export type FormReply =
  | { kind: 'screen'; progress: FormProgress; screen: FormScreen }
  /** Back on the first question. */
  | { kind: 'left' }
  | { kind: 'complete'; submission: Submission };
