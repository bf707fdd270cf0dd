import { checkForms, createForms, type Forms } from '@palaver/forms/internal';
import { checkProgram, drawMenu, type Fault, formatFault, type MenuCheck } from '@palaver/program/internal';
import { bundledProgram, loadRegistry } from '../catalog/bundled-program.ts';
import { codesOf } from '../catalog/program-files.ts';
import { findPrograms, readProgramSource, SourceFault } from '../catalog/read-source.ts';

export interface MenuReport {
  ok: boolean;
  lines: string[];
}

export async function checkProgramFiles(files: CheckedFiles) {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const report = await eachProgram(files, (check) => {
    if (!check.ok) {
      faults.push(...check.faults);
      return check.faults.map(formatFault);
    }
    const { menu } = check;
    warnings.push(...check.warnings);
    const codes = codesOf(menu).join(', ') || 'every other code';
    const summary = `${menu.id}: ${codes}; ${menu.states.size} states, languages ${[...menu.locales.keys()].join(', ')}: no faults`;
    return [...check.warnings.map((warning) => `note: ${formatFault(warning)}`), summary];
  });
  return { ...report, faults, warnings };
}

export function drawProgramFiles(files: CheckedFiles, language?: string): Promise<MenuReport> {
  return eachProgram(files, (check) => {
    if (!check.ok) return check.faults.map(formatFault);
    const [first = ''] = check.menu.locales.keys();
    return [drawMenu(check.menu, language ?? first).trimEnd()];
  });
}

async function eachProgram(files: CheckedFiles, describe: (check: MenuCheck) => string[]): Promise<MenuReport> {
  const report: MenuReport = { ok: true, lines: [] };
  await using forms = createForms();
  for await (const { check } of loadPrograms(files, forms)) {
    report.ok &&= check.ok;
    report.lines.push(...describe(check));
  }
  return report;
}

/** The bundled program, where no folder is named. */
type CheckedFiles = Omit<ProgramFiles, 'folder'> & { folder?: string | undefined };

export interface ProgramFiles {
  folder: string;
  actions?: string | undefined;
}

/** Every program of a folder, checked with its forms. A folder that cannot be read is a fault like any other. */
export async function* loadPrograms(
  { folder = bundledProgram, actions }: CheckedFiles,
  forms: Pick<Forms, 'inspect'>,
): AsyncGenerator<{ path: string; check: MenuCheck }> {
  const registry = await loadRegistry(actions);
  const base = await readProgramSource(bundledProgram);
  try {
    for (const path of await findPrograms(folder)) {
      const source = await readProgramSource(path);
      yield { path, check: await checkForms(checkProgram(source, registry, base), source, forms) };
    }
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    const fault = { file: error.path, line: 1, message: error.message };
    yield { path: error.path, check: { ok: false, faults: [fault] } };
  }
}
