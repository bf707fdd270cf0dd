/// <reference types="vite/client" />
import type { ProgramFiles } from './program-api.ts';

const ours = import.meta.glob<string>('./templates/**/*.yaml', { query: '?raw', import: 'default', eager: true });
const examples = import.meta.glob<string>(
  ['../../../../examples/{savings-group,price-list}/**/*.{yaml,csv}', '!**/flows/**'],
  { query: '?raw', import: 'default', eager: true },
);
const folders = {
  blank: './templates/blank/',
  survey: './templates/survey/',
  registration: './templates/registration/',
  helpline: './templates/helpline/',
  prices: '../../../../examples/price-list/',
  savings: '../../../../examples/savings-group/',
};

/** The files of a template, by their places in the program. */
export function templateFiles(template: keyof typeof folders): ProgramFiles {
  const folder = folders[template];
  return Object.fromEntries(
    Object.entries({ ...ours, ...examples })
      .filter(([path]) => path.startsWith(folder))
      .map(([path, text]) => [path.slice(folder.length), text]),
  );
}
