import type { ProgramFiles } from './program-api.ts';

/** What a new program can begin with. */
export const templates = ['blank', 'survey', 'registration', 'helpline', 'prices', 'savings'] as const;
export type Template = (typeof templates)[number];

export interface NewProgram {
  name: string;
  title: string;
  code: string;
  template: Template;
}

/** The files of a new program: those of its template, under its own name and service code. */
export async function createProgram({ name, title, code, template }: NewProgram): Promise<ProgramFiles> {
  const [{ setHeader }, { templateFiles }] = await Promise.all([
    import('./edit-settings.ts'),
    import('./template-files.ts'),
  ]);
  return setHeader(setHeader(setHeader(templateFiles(template), 'name', name), 'title', title), 'codes', [code]);
}
