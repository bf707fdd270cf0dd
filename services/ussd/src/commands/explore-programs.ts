import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Exploration, explore, type Finding } from '../explore/explore.ts';
import { questionsOf } from '../explore/explore-form.ts';
import { findCircles } from '../explore/find-circles.ts';
import { createForms } from '../forms/forms.ts';
import { formatFault } from '../menu/fault.ts';
import type { Menu } from '../menu/menu.ts';
import type { MenuReport } from './check-menu-files.ts';
import { parseFlow } from './flow.ts';
import { loadPrograms, type ProgramFiles } from './load-programs.ts';

export interface ExploreFiles extends ProgramFiles {
  /** For each program and language. */
  maxSteps?: number | undefined;
  maxSeconds?: number | undefined;
}

/** What `palaver program explore` prints. */
export async function explorePrograms({
  maxSteps = 20_000,
  maxSeconds = 120,
  ...files
}: ExploreFiles): Promise<MenuReport> {
  const report: MenuReport = { ok: true, lines: [] };
  await using forms = createForms();
  for await (const { path, check } of loadPrograms(files, forms)) {
    if (!check.ok) {
      report.ok = false;
      report.lines.push(...check.faults.map(formatFault));
      continue;
    }
    const { menu } = check;
    const samples = await readSamples(join(path, 'flows'));
    for (const language of menu.locales.keys()) {
      const until = Date.now() + maxSeconds * 1_000;
      const found = await explore({ menu, language, forms, samples, maxSteps, until });
      const lines = describe(menu, found);
      report.ok &&= lines.every((line) => line.startsWith('note'));
      const shown = [...menu.states.keys()].filter((name) => isShown(menu, name));
      const reached = shown.filter((name) => found.reached.has(name)).length;
      report.lines.push(
        ...lines.map((line) => `${menu.id} (${language}): ${line}`),
        `${menu.id} (${language}): ${reached} of ${shown.length} states in ${found.steps} steps${found.isComplete ? '' : ', stopped at the limit'}`,
      );
    }
  }
  return report;
}

function describe(menu: Menu, found: Exploration): string[] {
  const code = menu.codes[0] ?? 'any code';
  const say = (kind: string) => (finding: Finding) =>
    `${kind}: state ${finding.state}: ${finding.message} (${code}, then ${finding.typed.join(' ') || 'nothing'})`;
  const unreached = [...menu.states.keys()].filter((name) => !found.reached.has(name) && isShown(menu, name));
  const circles = findCircles(menu, found.ways);
  return [
    ...found.faults.map(say('fault')),
    ...circles.map((group) => `fault: nothing but Back and Exit leads out of ${group.sort().join(', ')}`),
    ...found.notes.map(say('note')),
    ...(unreached.length > 0 ? [`note: not reached: ${unreached.join(', ')}`] : []),
    ...[...found.forms].flatMap(([name, { seen }]) => {
      const state = menu.states.get(name);
      const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
      const missed = source ? questionsOf(source).filter((question) => !seen.has(question)) : [];
      return missed.length > 0 ? [`note: state ${name}: not asked: ${missed.join(', ')}`] : [];
    }),
  ];
}

/** States without a screen are passed through and leave no trace. */
function isShown(menu: Menu, name: string): boolean {
  const state = menu.states.get(name);
  return state !== undefined && ('text' in state || state.kind === 'form' || state.kind === 'action');
}

/** What the dialogues of the program answer is worth trying: it fits patterns and checks of its own. */
async function readSamples(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(
    names.filter((name) => /\.ya?ml$/.test(name)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  const sent = texts.flatMap((text) => {
    try {
      return parseFlow(text).steps.flatMap((step) => ('send' in step && !step.send.includes('{{') ? [step.send] : []));
    } catch {
      return [];
    }
  });
  return [...new Set(sent)];
}
