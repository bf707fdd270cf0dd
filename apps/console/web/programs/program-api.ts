import { callAsOperator } from '../api/call-service.ts';

export type ProgramFiles = Readonly<Record<string, string>>;

export interface ListedProgram {
  name: string;
  version: string | null;
  codes: string[];
  languages: string[];
  isPublished: boolean;
  draft: { revision: number; updatedAt: string; updatedBy: string } | null;
}

export interface ListedPrograms {
  programs: ListedProgram[];
  readOnly: boolean;
  role: 'viewer' | 'operator' | 'admin';
}

export interface Trial {
  inputs: string[];
  language: string;
  outcomes: Record<string, string>;
  timedOut?: string[];
  phoneNumber?: string;
  adapter?: 'africas-talking' | 'arkesel';
}

export interface RawMessage {
  contentType: string;
  body: string;
}

export interface TriedCall {
  screen: string;
  ended: boolean;
  state: string;
  language: string;
  values: Record<string, string>;
  actions: { state: string; action: string; outcome: string; outcomes: string[] }[];
  serviceCode: string;
  exchange: { path: string; request: RawMessage; reply: RawMessage };
}

export interface ListedVersion {
  version: string;
  usedAt: string;
  publishedAt: string | null;
  publishedBy: string | null;
  note: string | null;
  isCurrent: boolean;
}

export interface Draft {
  files: ProgramFiles;
  revision: number;
  updatedAt: string | null;
  updatedBy: string | null;
}

export interface Problem {
  file: string;
  line: number;
  state?: string;
  message: string;
}

export interface ProgramReport {
  ok: boolean;
  faults: Problem[];
  warnings: Problem[];
}

export interface Counts {
  shown: number;
  answered: number;
  refused: number;
  back: number;
  exited: number;
  timedOut: number;
  medianSeconds: number | null;
}

export interface ProgramStats {
  from: string;
  to: string;
  states: (Counts & { state: string })[];
  days: (Counts & { day: string; calls: number; returning: number })[];
  languages: (Counts & { language: string })[];
  versions: { version: string; calls: number; returning: number }[];
}

const root = '/api/ussd/programs';

async function ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
  return (await callAsOperator('ussd-gateway', root + path, init)).json() as Promise<Answer>;
}

function send<Answer>(method: string, path: string, body: unknown): Promise<Answer> {
  return ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

/** The routes of the USSD gateway for programs. */
export const programApi = {
  list: () => ask<ListedPrograms>(''),
  draft: (name: string) => ask<Draft>(`/${name}/draft`),
  versions: (name: string) => ask<{ versions: ListedVersion[] }>(`/${name}/versions`),
  files: (name: string, version: string) => ask<{ files: ProgramFiles }>(`/${name}/versions/${version}`),
  check: (name: string, files: ProgramFiles) => send<ProgramReport>('POST', `/${name}/check`, { files }),
  saveDraft: (name: string, draft: { files: ProgramFiles; revision: number }) =>
    send<{ revision: number }>('PUT', `/${name}/draft`, draft),
  try: (name: string, trial: Trial) => send<TriedCall>('POST', `/${name}/try`, trial),
  publish: (name: string, options: { revision: number; note?: string }) =>
    send<{ version: string }>('POST', `/${name}/publish`, options),
  rollBack: (name: string, version: string) => send<{ version: string }>('POST', `/${name}/rollback`, { version }),
  stats: (name: string, query: Record<string, string>) =>
    ask<ProgramStats>(`/${name}/stats?${new URLSearchParams(query)}`),
};
