import type { Registry } from '../model/menu.ts';
import { parseDataFiles } from '../parse/data-files.ts';
import { parseLocale } from '../parse/parse-locale.ts';
import { parseMenu } from '../parse/parse-menu.ts';
import { isMenuPath, languageOf, type ProgramSource, programFile, toFormSources } from '../parse/program-source.ts';
import { checkMenu, type MenuCheck, type ParsedProgram } from './check-menu.ts';

function parseProgram({ files }: ProgramSource): ParsedProgram {
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
  const isSame = (i: number) =>
    (['file', 'path', 'text'] as const).every((field) => some[i]?.[field] === others[i]?.[field]);
  return some.length === others.length && some.every((_, i) => isSame(i));
}

const maxStates = 2_000;

/** Parses and checks a program. `base` is what `extends: palaver` means. Runs in browsers too. */
export function checkProgram(source: ProgramSource, registry: Registry, base: ProgramSource): MenuCheck {
  const own = areSame(source.files, base.files) ? parseBase(base) : parseProgram(source);
  const isExtension = own.files.some(({ header }) => header.extends !== undefined);
  const states = own.files.reduce((sum, file) => sum + file.states.size, 0);
  const message = `a program has at most ${maxStates} states`;
  if (states > maxStates) return { ok: false, faults: [{ file: own.files[0]?.file ?? programFile, line: 1, message }] };
  const { data, faults } = parseDataFiles(source);
  if (faults.length > 0) return { ok: false, faults };
  const extended = isExtension && { base: parseBase(base) };
  return checkMenu({ ...own, data, forms: toFormSources(source), ...extended }, registry);
}
