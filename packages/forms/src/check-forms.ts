import { type Fault, type MenuCheck, type ProgramSource, suggest } from '@palaver/program/internal';
import type { Forms } from './forms.ts';
import { isPathOf } from './walk.ts';

type Inspect = Pick<Forms, 'inspect'>;

export async function checkForms(check: MenuCheck, { files }: ProgramSource, forms: Inspect): Promise<MenuCheck> {
  if (!check.ok) return check;
  const faults: Fault[] = [];
  const reports = new Map<string, Awaited<ReturnType<Forms['inspect']>>>();
  for (const [name, state] of check.menu.states) {
    const source = state.kind === 'form' ? check.menu.forms.get(state.form) : undefined;
    if (state.kind !== 'form' || !source) continue;
    const file = files.find(({ path }) => path === state.form)?.file ?? state.form;
    const report = reports.get(state.form) ?? (await forms.inspect(source));
    reports.set(state.form, report);
    const left = report.faults.filter(({ question }) => !state.waive.some((path) => isPathOf(question, path)));
    const fresh = left.filter(({ line, message }) => !isSaid(faults, { file, line, message }));
    faults.push(...fresh.map(({ line, message }) => ({ file, line, message })));
    for (const question of [...Object.values(state.take), ...state.waive]) {
      const last = question.split('/').at(-1) ?? '';
      if (left.length === 0 && !report.names.includes(last)) {
        const message = `the form has no question ${question}${suggest(last, report.names)}`;
        faults.push({ file, line: 1, state: name, message });
      }
    }
  }
  return faults.length > 0 ? { ok: false, faults } : check;
}

function isSaid(faults: readonly Fault[], { file, line, message }: Fault): boolean {
  return faults.some((other) => other.file === file && other.line === line && other.message === message);
}
