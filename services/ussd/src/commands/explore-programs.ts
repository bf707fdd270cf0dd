import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createForms, exploreForm, type Forms, questionsOf } from '@palaver/forms/internal';
import { type Exploration, explore, type Fault, findCircles, formatFault, type Menu } from '@palaver/program/internal';
import { sample, stringMatching } from 'fast-check';
import { codesOf } from '../catalog/program-files.ts';
import { loadPrograms, type MenuReport, type ProgramFiles } from './check-programs.ts';
import { parseFlow } from './flow.ts';

export interface ExploreFiles extends ProgramFiles {
  maxSteps?: number | undefined;
  maxSeconds?: number | undefined;
  onProgress?: ((text: string) => void) | undefined;
}

export interface ExploreFinding extends Fault {
  kind: 'fault' | 'note';
  program?: string;
  languages?: string[];
  typed?: string[];
}

type ExploredProgram = Awaited<ReturnType<typeof walkProgram>>;

export interface ExploreReport extends MenuReport {
  findings: ExploreFinding[];
  programs: ExploredProgram[];
}

export async function explorePrograms(wanted: ExploreFiles): Promise<ExploreReport> {
  const { maxSteps = 20_000, maxSeconds = 120, onProgress, ...files } = wanted;
  const findings: ExploreFinding[] = [];
  const programs: ExploredProgram[] = [];
  const lines: string[] = [];
  await using forms = createForms();
  for await (const { path, check } of loadPrograms(files, forms)) {
    const found: ExploreFinding[] = check.ok ? [] : check.faults.map((fault) => ({ kind: 'fault', ...fault }));
    const walked: ExploredProgram[] = [];
    const samples = await readSamples(join(path, 'flows'));
    for (const language of check.ok ? check.menu.locales.keys() : []) {
      if (!check.ok) break;
      const walk = { menu: check.menu, language, forms, samples, maxSteps, maxSeconds, onProgress };
      walked.push(await walkProgram(walk, found));
    }
    findings.push(...found);
    programs.push(...walked);
    lines.push(...found.map(formatFinding), ...walked.map(formatProgram));
  }
  return { ok: findings.every(({ kind }) => kind === 'note'), lines, findings, programs };
}

interface ProgramWalk
  extends Pick<ExploreFiles, 'onProgress'>,
    Required<Pick<ExploreFiles, 'maxSteps' | 'maxSeconds'>> {
  menu: Menu;
  language: string;
  forms: Forms;
  samples: readonly string[];
}

/** A finding that another language had before gets this language added. */
async function walkProgram(walk: ProgramWalk, findings: ExploreFinding[]) {
  const { menu, language, forms, maxSeconds, onProgress, ...options } = walk;
  const result = await explore({
    ...options,
    menu,
    language,
    fillForm: (form) => exploreForm(forms, form),
    textsMatching,
    // The terminal is written meanwhile.
    pause: () => new Promise(setImmediate),
    until: Date.now() + maxSeconds * 1_000,
    onProgress: ({ steps, reached }) =>
      onProgress?.(`${menu.id} (${language}): ${steps} steps, ${reached.size} states`),
  });
  for (const [kind, { state, message, typed }] of listFindings(menu, result)) {
    const known = findings.find((other) => other.state === state && other.message === message);
    if (known) known.languages?.push(language);
    else {
      const { file, line } = menu.places.get(state) ?? { file: '', line: 1 };
      const dialled = typed && [codesOf(menu)[0] ?? 'any code', ...typed];
      findings.push({
        kind,
        program: menu.id,
        languages: [language],
        file,
        line,
        state,
        message,
        ...(dialled && { typed: dialled }),
      });
    }
  }
  const shown = [...menu.states.keys()].filter((name) => isShown(menu, name));
  const reached = shown.filter((name) => result.reached.has(name)).length;
  const { steps, isComplete } = result;
  return { program: menu.id, language, states: shown.length, reached, steps, isComplete };
}

type Listed = [kind: ExploreFinding['kind'], finding: { state: string; message: string; typed?: readonly string[] }];

function listFindings(menu: Menu, found: Exploration): Listed[] {
  // A program need not use all that it inherits.
  const unreached = [...menu.places].flatMap(([name, { inherited }]) =>
    inherited || found.reached.has(name) || !isShown(menu, name) ? [] : name,
  );
  const circles = findCircles(menu, found.ways).map((group) => group.sort());
  const missed = [...found.forms].flatMap(([name, { seen }]) => {
    const state = menu.states.get(name);
    const source = state?.kind === 'form' ? menu.forms.get(state.form) : undefined;
    const questions = source ? questionsOf(source).filter((question) => !seen.has(question)) : [];
    return questions.length > 0 ? [{ state: name, message: `not asked: ${questions.join(', ')}` }] : [];
  });
  const faults = [
    ...found.faults,
    ...circles.map((group) => ({
      state: group[0] ?? '',
      message: `nothing but Back and Exit leads out of ${group.join(', ')}`,
    })),
  ];
  const notes = [...found.notes, ...unreached.map((state) => ({ state, message: 'not reached' })), ...missed];
  return [...faults.map((fault): Listed => ['fault', fault]), ...notes.map((note): Listed => ['note', note])];
}

function formatFinding({ kind, languages, typed, ...fault }: ExploreFinding): string {
  const [code, ...inputs] = typed ?? [];
  const way = code === undefined ? '' : `: ${code}, then ${inputs.join(' ') || 'nothing'}`;
  const where = languages ? ` (${languages.join(', ')}${way})` : '';
  return `${kind === 'note' ? 'note: ' : ''}${formatFault(fault)}${where}`;
}

function formatProgram({ program, language, states, reached, steps, isComplete }: ExploredProgram): string {
  const limit = isComplete ? '' : ', stopped at the limit';
  return `${program} (${language}): ${reached} of ${states} states in ${steps} steps${limit}`;
}

/** States without a screen are passed through and leave no trace. */
function isShown(menu: Menu, name: string): boolean {
  const state = menu.states.get(name);
  return state !== undefined && ('text' in state || state.kind === 'form' || state.kind === 'action');
}

/** Answers of the program's own dialogues fit its patterns and checks. */
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

/** None for a pattern that RE2 knows and JavaScript does not. */
function textsMatching(pattern: string): string[] {
  try {
    return sample(stringMatching(new RegExp(`^(?:${pattern})$`)), { numRuns: 20, seed: 1 });
  } catch {
    return [];
  }
}
