import type { FormSource } from '../model/form-protocol.ts';

/** A file of a program: where it is, for messages, and its place in the program. */
export interface SourceFile {
  file: string;
  /** Relative to the program's folder, with slashes: `program.yaml`, `locales/en.yaml`, `data/markets.csv`. */
  path: string;
  text: string;
}

/** Everything a program is made of. Nothing else is read to check or run it. */
export interface ProgramSource {
  name: string;
  files: readonly SourceFile[];
}

export const programFile = 'program.yaml';

/** The language of a file of texts, if it is one. */
export const languageOf = (path: string): string | undefined => /^locales\/([^/]+)\.ya?ml$/.exec(path)?.[1];

/** States are in the YAML files of the folder itself. */
export const isMenuPath = (path: string): boolean => /^[^/]+\.ya?ml$/.test(path);

/** The forms of a program, by their path, each with the files of its folder or of the folder of its own name. */
export function toFormSources({ files }: ProgramSource): Map<string, FormSource> {
  const own = files.filter(({ path }) => path.startsWith('forms/'));
  const forms = own.filter(({ path }) => /^forms\/(server\/)?[^/]+\.(xml|xlsx)$/.test(path));
  return new Map(
    forms.map(({ path, text }) => {
      const folders = [path.replace(/[^/]+$/, ''), `${path.replace(/\.\w+$/, '')}/`];
      const near = own.flatMap((file) => {
        const name = file.path.slice(file.path.lastIndexOf('/') + 1);
        return folders.includes(file.path.slice(0, -name.length)) ? [[name, file.text] as const] : [];
      });
      return [path, { xml: text.replace(/^\uFEFF/, '').trim(), attachments: Object.fromEntries(near) }];
    }),
  );
}
