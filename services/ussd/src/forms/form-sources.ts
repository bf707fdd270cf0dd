import type { ProgramSource } from '../menu/program-source.ts';
import type { FormSource } from './protocol.ts';

const folder = 'forms/';

/** The forms of a program, by their path. Every file of the folder is there for each of them. */
export function toFormSources({ files }: ProgramSource): Map<string, FormSource> {
  const own = files.filter(({ path }) => path.startsWith(folder));
  const attachments = Object.fromEntries(own.map(({ path, text }) => [path.slice(folder.length), text]));
  const forms = own.filter(({ path }) => /\.(xml|xlsx)$/.test(path));
  return new Map(forms.map(({ path, text }) => [path, { xml: text.replace(/^\uFEFF/, '').trim(), attachments }]));
}
