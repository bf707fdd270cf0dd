import type { Registry } from '../model/menu.ts';
import { parseDataFiles } from '../parse/data-files.ts';
import { toFormSources } from '../parse/form-sources.ts';
import { type LocaleFile, parseLocale } from '../parse/parse-locale.ts';
import { type MenuFile, parseMenu } from '../parse/parse-menu.ts';
import { isMenuPath, languageOf, type ProgramSource, programFile, type SourceFile } from '../parse/program-source.ts';
import { checkMenu, type MenuCheck } from './check-menu.ts';

/** What a program may extend: its states and its texts, parsed. */
export interface ParsedProgram {
  files: MenuFile[];
  locales: LocaleFile[];
}

export function parseProgram({ files }: ProgramSource): ParsedProgram {
  const menus = files.filter(({ path }) => isMenuPath(path));
  return {
    files: menus.map(({ file, path, text }) => parseMenu(file, text, path)),
    locales: files.flatMap(({ file, path, text }) => {
      const language = languageOf(path);
      return language === undefined ? [] : [parseLocale(file, language, text)];
    }),
  };
}

/** The base is the same at every check, so it is parsed once. */
let lastBase: { files: ProgramSource['files']; parsed: ParsedProgram } | undefined;

function parseBase(base: ProgramSource): ParsedProgram {
  if (!lastBase || !areSame(lastBase.files, base.files)) lastBase = { files: base.files, parsed: parseProgram(base) };
  return lastBase.parsed;
}

function areSame(some: ProgramSource['files'], others: ProgramSource['files']): boolean {
  const isSame = ({ file, path, text }: SourceFile, other?: SourceFile) =>
    file === other?.file && path === other.path && text === other.text;
  return some.length === others.length && some.every((one, at) => isSame(one, others[at]));
}

const maxStates = 2_000;
const tooManyStates = `a program has at most ${maxStates} states`;

/** Parses and checks a program. `base` is what `extends: palaver` means. Runs in browsers too. */
export function checkProgram(source: ProgramSource, registry: Registry, base: ProgramSource): MenuCheck {
  const own = areSame(source.files, base.files) ? parseBase(base) : parseProgram(source);
  const isExtension = own.files.some(({ header }) => header?.extends !== undefined);
  const states = own.files.reduce((sum, file) => sum + file.states.size, 0);
  if (states > maxStates)
    return { ok: false, faults: [{ file: own.files[0]?.file ?? programFile, line: 1, message: tooManyStates }] };
  const { data, faults } = parseDataFiles(source);
  if (faults.length > 0) return { ok: false, faults };
  return checkMenu(
    { ...own, data, forms: toFormSources(source), ...(isExtension && { base: parseBase(base) }) },
    registry,
  );
}
