/// <reference types="vite/client" />
import { setIdentity } from './edit-program.ts';
import type { Template } from './names.ts';
import type { ProgramFiles } from './program-api.ts';

const ours = import.meta.glob<string>('./templates/**/*.yaml', { query: '?raw', import: 'default', eager: true });
const examples = import.meta.glob<string>(
  ['../../../../examples/{savings-group,price-list}/**/*.{yaml,csv}', '!**/flows/**'],
  { query: '?raw', import: 'default', eager: true },
);
const folders: Record<Template, string> = {
  blank: './templates/blank/',
  survey: './templates/survey/',
  registration: './templates/registration/',
  helpline: './templates/helpline/',
  prices: '../../../../examples/price-list/',
  savings: '../../../../examples/savings-group/',
};

interface NewProgram {
  name: string;
  title: string;
  code: string;
  template: Template;
}

export function createProgram({ name, title, code, template }: NewProgram): ProgramFiles {
  const folder = folders[template];
  const files = Object.entries({ ...ours, ...examples })
    .filter(([path]) => path.startsWith(folder))
    .map(([path, text]) => [path.slice(folder.length), text]);
  return setIdentity(Object.fromEntries(files), { name, title, codes: [code] });
}
