import type {
  ConvertedForm,
  ListedPrograms,
  ProgramDraft,
  ProgramFiles,
  ProgramReport,
  ProgramStats,
  ProgramVersions,
  TriedCall,
} from '@palaver/contract/internal';
import { loadAsOperator, sendAsOperator } from '../api/call-service.ts';

export type {
  ListedProgram,
  ListedPrograms,
  ProgramFiles,
  ProgramProblem as Problem,
  ProgramStats,
  StateCounts as Counts,
  TriedCall,
} from '@palaver/contract/internal';

/** Where there is no draft, the files are those of the version in use. */
export type Draft = Omit<ProgramDraft, 'name'>;

export interface Trial {
  inputs: string[];
  language: string;
  outcomes: Record<string, string>;
  timedOut?: string[];
  phoneNumber?: string;
  adapter?: 'africas-talking' | 'arkesel';
}

const root = '/api/ussd/programs';

function ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
  return loadAsOperator('ussd-gateway', root + path, init);
}

const send = <Answer>(method: 'POST' | 'PUT', path: string, body: unknown) =>
  sendAsOperator<Answer>('ussd-gateway', root + path, body, method);

export const programApi = {
  list: () => ask<ListedPrograms>(''),
  draft: (name: string) => ask<Draft>(`/${name}/draft`),
  versions: (name: string) => ask<ProgramVersions>(`/${name}/versions`),
  files: (name: string, version: string) => ask<{ files: ProgramFiles }>(`/${name}/versions/${version}`),
  check: (name: string, files: ProgramFiles) => send<ProgramReport>('POST', `/${name}/check`, { files }),
  saveDraft: (name: string, draft: { files: ProgramFiles; revision: number }) =>
    send<{ revision: number }>('PUT', `/${name}/draft`, draft),
  convertForm: async (name: string, file: string, body: Blob) => {
    const path = `/${name}/convert-form?${new URLSearchParams({ file })}`;
    const headers = { 'content-type': 'application/octet-stream' };
    return (await ask<ConvertedForm>(path, { method: 'POST', headers, body })).xml;
  },
  try: (name: string, trial: Trial) => send<TriedCall>('POST', `/${name}/try`, trial),
  publish: (name: string, options: { revision: number; note?: string }) =>
    send<{ version: string }>('POST', `/${name}/publish`, options),
  rollBack: (name: string, version: string) => send<{ version: string }>('POST', `/${name}/rollback`, { version }),
  withdraw: (name: string) => send<unknown>('POST', `/${name}/withdraw`, {}),
  removeDraft: (name: string, revision: number) =>
    ask<unknown>(`/${name}/draft?${new URLSearchParams({ revision: String(revision) })}`, { method: 'DELETE' }),
  stats: (name: string, query: Record<string, string>) =>
    ask<ProgramStats>(`/${name}/stats?${new URLSearchParams(query)}`),
};
