import { createForms } from '@palaver/forms/internal';
import { drawMenu, type Fault, formatFault, type MenuCheck } from '@palaver/program/internal';
import { loadRegistry, toMenuSources } from '../catalog/bundled-menus.ts';
import { loadMenu } from '../catalog/load-program.ts';
import { codesOf } from '../catalog/service-codes.ts';
import { loadPrograms, type ProgramFiles } from './load-programs.ts';

export interface MenuFiles {
  /** A menu file or folder; the default service's when absent. */
  menus?: string | undefined;
  locales?: string | undefined;
  /** A module of actions beside the default service's. */
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
  return loadMenu(toMenuSources({ USSD_MENUS: menus, USSD_LOCALES: locales }), await loadRegistry(actions));
}

export interface ProgramCheckReport extends MenuReport {
  faults: Fault[];
  warnings: Fault[];
}

/** What `palaver program check` prints. */
export async function checkProgramFiles(files: ProgramFiles): Promise<ProgramCheckReport> {
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

/** What `palaver program draw` prints: Mermaid. */
export function drawProgramFiles(files: ProgramFiles, language?: string): Promise<MenuReport> {
  return eachProgram(files, (check) => {
    if (!check.ok) return check.faults.map(formatFault);
    const [first = ''] = check.menu.locales.keys();
    return [drawMenu(check.menu, language ?? first).trimEnd()];
  });
}

async function eachProgram(files: ProgramFiles, describe: (check: MenuCheck) => string[]): Promise<MenuReport> {
  const report: MenuReport = { ok: true, lines: [] };
  await using forms = createForms();
  for await (const { check } of loadPrograms(files, forms)) {
    report.ok &&= check.ok;
    report.lines.push(...describe(check));
  }
  return report;
}
