import { toMenuSources, toRegistry } from '../actions/default-menu.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { loadOwnActions } from '../actions/load-own-actions.ts';
import type { MenuCheck } from '../menu/check-menu.ts';
import { drawMenu } from '../menu/draw-menu.ts';
import { formatFault } from '../menu/fault.ts';
import { loadMenu } from '../programs/load-program.ts';

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
  const own = await loadOwnActions(actions);
  const registry = toRegistry({ ...defaultSignatures, ...own.actions }, own.validators);
  return loadMenu(toMenuSources({ USSD_MENUS: menus, USSD_LOCALES: locales }), registry);
}
