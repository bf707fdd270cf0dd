import type { FormProgress, FormReply, FormSource } from '@palaver/program/internal';

export interface FormCall {
  language: string;
  phoneNumber: string;
  /** Absent where the form begins. */
  progress?: FormProgress | undefined;
  /** Absent where the question is only shown. */
  input?: string | undefined;
  /** Questions whose answers the program wants, by the name it gives them. */
  take?: Readonly<Record<string, string>>;
  waive?: readonly string[];
}

export interface FormReport {
  title: string;
  formId: string;
  version: string;
  languages: readonly string[];
  names: readonly string[];
  /** `question` is the path of a required one that a keypad cannot answer: a program may waive it. */
  faults: readonly { line: number; message: string; question?: string }[];
}

export type WorkerCall =
  | { id: number; kind: 'inspect'; source: FormSource }
  /** With `sliceMs`, an input that computes for longer is abandoned, so that other callers go first. */
  | { id: number; kind: 'press'; form: string; call: FormCall; sliceMs?: number }
  /** If forms and instances take more than `maxHeapMb`, those used longest ago are dropped. */
  | { id: number; kind: 'load'; form: string; source: FormSource; maxHeapMb: number };

export type WorkerReply =
  | { id: number; report: FormReport }
  | { id: number; reply: FormReply; loads: number; tookMs: number }
  | { id: number; loads: number }
  | { id: number; missing: true }
  /** The input computes for longer than its slice; nothing is changed. */
  | { id: number; costly: true }
  | { id: number; fault: string };
