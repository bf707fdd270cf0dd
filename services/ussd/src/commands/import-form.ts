import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { convertXlsForm, createForms, type FormReport, XlsFormFault } from '@palaver/forms/internal';
import { changeYaml, formatFault, printFile, printYaml, programFile, type State } from '@palaver/program/internal';
import { StartError } from '@palaver/service-kit';
import { parseDocument } from 'yaml';
import { programLimits } from '../catalog/program-files.ts';
import type { MenuReport } from './check-programs.ts';
import { makeProgramFolder, toProgramName } from './new-program.ts';

export interface FormImport {
  /** An XForm (.xml) or an XLSForm (.xlsx, .xls). */
  form: string;
  /** A program's folder; a new program is written where there is none. */
  folder: string;
}

interface Imported {
  state: string;
  path: string;
  report: FormReport;
}

export async function importForm({ form, folder }: FormImport): Promise<MenuReport> {
  const name = toProgramName(folder);
  const xml = await readForm(form);
  const attachments = await readAttachments(form, xml);
  await using forms = createForms();
  const report = await forms.inspect({ xml, attachments });
  if (report.faults.length > 0)
    return { ok: false, lines: report.faults.map((fault) => formatFault({ file: form, ...fault })) };
  const file = `${basename(form, extname(form)).replace(/[^\w-]/g, '-')}.xml`;
  const imported: Imported = { state: toStateName(report.formId || file), path: `forms/${file}`, report };
  makeProgramFolder(join(folder, 'forms'));
  const isNew = !(await readdir(folder)).includes(programFile);
  const attached = Object.entries(attachments).map(([name, text]) => [`forms/${name}`, text] as const);
  const written = { [imported.path]: xml, ...Object.fromEntries(attached) };
  const taken = [...(isNew ? [] : [`${imported.state}.yaml`]), ...Object.keys(written)].find((path) =>
    existsSync(join(folder, path)),
  );
  if (taken !== undefined) throw new StartError(`${join(folder, taken)} exists already.`);
  for (const [path, text] of Object.entries(written)) await writeFile(join(folder, path), text, { flag: 'wx' });
  if (isNew) await writeProgram(folder, name, imported);
  else await addState(folder, imported);
  const next = isNew
    ? `Dial it: npx palaver program run ${folder}`
    : `Lead to it from a menu: - { text: ${imported.state}.title, to: ${imported.state} }`;
  return { ok: true, lines: [`${report.title || report.formId}: ${Object.keys(written).join(', ')}`, next] };
}

async function readForm(form: string): Promise<string> {
  try {
    return /\.xlsx?$/.test(form)
      ? await convertXlsForm(form, await readFile(form), programLimits.fileBytes)
      : await readFile(form, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof XlsFormFault || code === 'ENOENT')
      throw new StartError(`${form}: ${code === 'ENOENT' ? 'there is no such file' : message}`, { cause: error });
    throw error;
  }
}

/** The files that the form names, from its folder. Photos and sounds are not shown on a phone. */
async function readAttachments(form: string, xml: string): Promise<Record<string, string>> {
  const named = new Set(
    Array.from(xml.matchAll(/jr:\/\/[\w-]+\/([\w.-]+\.(?:csv|xml|geojson))/g), ([, name = '']) => name),
  );
  const texts = await Promise.all(
    Array.from(named, async (name) => {
      const text = await readFile(join(dirname(form), name), 'utf8').catch(() => undefined);
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
  return Object.fromEntries(texts.flat());
}

function toStateName(id: string): string {
  const words = id.replace(/\.xml$/, '').match(/[a-zA-Z0-9]+/g) ?? [];
  const joined = words
    .map((word, i) => (i === 0 ? word.toLowerCase() : word[0]?.toUpperCase() + word.slice(1)))
    .join('');
  return /^[a-z]/.test(joined) ? joined : `form${joined}`;
}

const statesOf = ({ state, path }: Imported): [string, State][] => [
  [state, { kind: 'form', form: path, take: {}, waive: [], to: `${state}Thanks` }],
  [`${state}Thanks`, { kind: 'page', text: `${state}.thanks`, back: true, options: [] }],
];

/** The bundled languages that the form has too; English where it has none of them. */
function toLanguages({ languages }: FormReport): string[] {
  const codes = languages.map((language) => /\(([\w-]+)\)\s*$/.exec(language)?.[1] ?? language.toLowerCase());
  const own = Object.keys(words).filter((code) => codes.includes(code));
  return own.length > 0 ? own : ['en'];
}

const words: Record<string, { begin: string; continue: string; thanks: string }> = {
  en: { begin: 'Begin', continue: 'Continue', thanks: 'Thank you.' },
  fr: { begin: 'Commencer', continue: 'Continuer', thanks: 'Merci.' },
  sw: { begin: 'Anza', continue: 'Endelea', thanks: 'Asante.' },
};

async function writeProgram(folder: string, name: string, imported: Imported): Promise<void> {
  const languages = toLanguages(imported.report);
  const options = [
    { key: '1', text: 'home.begin', to: imported.state },
    { key: '2', text: 'home.continue', to: '@resume', when: 'resumable' },
  ];
  const home: State = { kind: 'menu', text: `${imported.state}.title`, back: true, options };
  const states = new Map<string, State>([['home', home], ...statesOf(imported)]);
  const header = { name, codes: ['*384*9#'], extends: 'palaver', languages, start: 'home' } as const;
  await writeFile(join(folder, programFile), printFile({ header, states }));
  makeProgramFolder(join(folder, 'locales'));
  for (const language of languages) {
    const { begin, continue: resume } = words[language] ?? words.en ?? { begin: '', continue: '' };
    await addTexts(join(folder, 'locales', `${language}.yaml`), language, imported, { begin, continue: resume });
  }
}

async function addState(folder: string, imported: Imported): Promise<void> {
  const file = join(folder, `${imported.state}.yaml`);
  await writeFile(file, printFile({ states: new Map(statesOf(imported)) }), { flag: 'wx' });
  for (const locale of await readdir(join(folder, 'locales')))
    if (/\.ya?ml$/.test(locale))
      await addTexts(join(folder, 'locales', locale), locale.replace(/\.ya?ml$/, ''), imported);
}

/** The content of the file stays, including comments. */
async function addTexts(file: string, language: string, { state, report }: Imported, home?: object): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const own = { title: report.title || report.formId, thanks: (words[language] ?? words.en)?.thanks };
  const changed = changeYaml(parseDocument(text), (document) => {
    if (home) document.set('home', home);
    if (!document.has(state)) document.set(state, own);
  });
  await writeFile(file, printYaml(changed));
}
