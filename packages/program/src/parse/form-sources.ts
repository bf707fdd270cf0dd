import type { FormSource } from '../model/form-protocol.ts';
import type { ProgramSource } from './program-source.ts';

const folder = 'forms/';

/** The forms of a program, by their path, each with the files of its folder or of the folder of its own name. */
export function toFormSources({ files }: ProgramSource): Map<string, FormSource> {
  const own = files.filter(({ path }) => path.startsWith(folder));
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
