import { toMenuSources, toRegistry } from '../actions/default-menu.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { loadOwnActions } from '../actions/load-own-actions.ts';
import { checkForms } from '../forms/check-forms.ts';
import { createForms } from '../forms/forms.ts';
import type { MenuCheck } from '../menu/check-menu.ts';
import { checkProgram } from '../menu/check-program.ts';
import { drawMenu } from '../menu/draw-menu.ts';
import { formatFault } from '../menu/fault.ts';
import { loadMenu } from '../programs/load-program.ts';
import { findPrograms, readMenuSource, readProgramSource, SourceFault } from '../programs/read-source.ts';

export interface MenuFiles {
  /** A menu file or folder; the default service's when absent. */
  menus?: string | undefined;
  locales?: string | undefined;
  /** A module of actions beside the default service's. */
  actions?: string | undefined;
}

export interface ProgramFiles {
  /** A program's folder, or a folder of several. */
  folder: string;
  actions?: string | undefined;
}

export interface MenuReport {
  ok: boolean;
  lines: string[];
}

/** What `palaver menu check` prints. */
export async function checkMenuFiles(files: MenuFiles): Promise<MenuReport> {
  const result = await load(files);
  if (!result.ok) return { ok: false, lines: result.faults.map(formatFault) };
  const { states, locales } = result.menu;
  const summary = `${states.size} states, ${locales.size} languages (${[...locales.keys()].join(', ')}): no faults`;
  return { ok: true, lines: [...result.warnings.map((warning) => `note: ${formatFault(warning)}`), summary] };
}

/** What `palaver menu draw` prints: Mermaid. */
export async function drawMenuFiles(files: MenuFiles, language?: string): Promise<MenuReport> {
  const result = await load(files);
  if (!result.ok) return { ok: false, lines: result.faults.map(formatFault) };
  const [first = ''] = result.menu.locales.keys();
  return { ok: true, lines: [drawMenu(result.menu, language ?? first).trimEnd()] };
}

async function load({ menus, locales, actions }: MenuFiles): Promise<MenuCheck> {
  const own = await loadOwnActions(actions);
  const registry = toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
  return loadMenu(toMenuSources({ USSD_MENUS: menus, USSD_LOCALES: locales }), registry);
}

/** What `palaver program check` prints. */
export function checkProgramFiles(files: ProgramFiles): Promise<MenuReport> {
  return eachProgram(files, (name, { menu, warnings }) => {
    const codes = menu.codes.length > 0 ? menu.codes.join(', ') : 'every other code';
    const summary = `${name}: ${codes}; ${menu.states.size} states, languages ${[...menu.locales.keys()].join(', ')}: no faults`;
    return [...warnings.map((warning) => `note: ${formatFault(warning)}`), summary];
  });
}

/** What `palaver program draw` prints: Mermaid. */
export function drawProgramFiles(files: ProgramFiles, language?: string): Promise<MenuReport> {
  return eachProgram(files, (_, { menu }) => {
    const [first = ''] = menu.locales.keys();
    return [drawMenu(menu, language ?? first).trimEnd()];
  });
}

async function eachProgram(
  { folder, actions }: ProgramFiles,
  describe: (name: string, check: Extract<MenuCheck, { ok: true }>) => string[],
): Promise<MenuReport> {
  const own = await loadOwnActions(actions);
  const registry = toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
  const base = await readMenuSource('palaver', toMenuSources({}));
  const report: MenuReport = { ok: true, lines: [] };
  const forms = createForms();
  try {
    for (const path of await findPrograms(folder)) {
      const source = await readProgramSource(path);
      const check = await checkForms(checkProgram(source, registry, base), source, forms);
      report.ok &&= check.ok;
      report.lines.push(...(check.ok ? describe(check.menu.id, check) : check.faults.map(formatFault)));
    }
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    return { ok: false, lines: [formatFault({ file: error.path, line: 1, message: error.message })] };
  } finally {
    await forms.close();
  }
  return report;
}
