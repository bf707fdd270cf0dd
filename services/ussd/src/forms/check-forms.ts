import type { MenuCheck } from '../menu/check-menu.ts';
import type { Fault } from '../menu/fault.ts';
import type { ProgramSource } from '../menu/program-source.ts';
import { suggest } from '../menu/suggest.ts';
import type { Forms } from './forms.ts';

/** Loads the forms that a checked program names, and adds what is wrong with them. */
export async function checkForms(
  check: MenuCheck,
  { files }: ProgramSource,
  forms: Pick<Forms, 'inspect'>,
): Promise<MenuCheck> {
  if (!check.ok) return check;
  const faults: Fault[] = [];
  const reports = new Map<string, Awaited<ReturnType<Forms['inspect']>>>();
  for (const [name, state] of check.menu.states) {
    const source = state.kind === 'form' ? check.menu.forms.get(state.form) : undefined;
    if (state.kind !== 'form' || !source) continue;
    const file = files.find(({ path }) => path === state.form)?.file ?? state.form;
    const known = reports.get(state.form);
    const report = known ?? (await forms.inspect(source));
    reports.set(state.form, report);
    if (!known) faults.push(...report.faults.map((fault) => ({ file, ...fault })));
    for (const question of Object.values(state.take)) {
      const last = question.split('/').at(-1) ?? '';
      if (report.faults.length === 0 && !report.names.includes(last)) {
        const message = `the form has no question ${question}${suggest(last, report.names)}`;
        faults.push({ file, line: 1, state: name, message });
      }
    }
  }
  return faults.length > 0 ? { ok: false, faults } : check;
}
