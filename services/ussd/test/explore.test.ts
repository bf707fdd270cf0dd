// What `palaver program explore` finds in programs with faults, and that the bundled programs have none.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { explorePrograms } from '../src/commands/explore-programs.ts';

async function writeProgram(states: string, texts: string, more: Record<string, string> = {}) {
  const dir = await createTempDir();
  const header = 'name: small\ncodes: ["*384*5#"]\nextends: palaver\nlanguages: [en]\nstart: home\n';
  const files: Record<string, string> = {
    'program.yaml': `${header}records: { note: { amount: integer } }\nstates:\n${states}`,
    'locales/en.yaml': texts,
    ...more,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, path)), { recursive: true });
    writeFileSync(join(dir.path, path), text);
  }
  return dir;
}

const states = `
  home: { kind: menu, text: home, options: [{ text: a, to: code }, { text: b, to: amount }, { text: c, to: left }] }
  code: { kind: prompt, text: code, type: text, pattern: "Q[0-9]{3}Z", check: { that: answer.contains("123"), hint: home }, save: code, to: thanks }
  amount: { kind: prompt, text: amount, type: integer, min: 1, max: 5000, save: amount, to: size }
  size: { kind: branch, when: [{ that: amount == 1234, to: exact }, { that: amount > 5000, to: never }], else: list }
  exact: { kind: page, text: exact }
  never: { kind: page, text: thanks }
  list: { kind: action, find: note, save: notes, outcomes: { found: choose, none: choose } }
  choose: { kind: menu, text: home, from: { list: notes, text: amount, save: { chosen: id } }, to: thanks }
  thanks: { kind: page, text: thanks }
  left: { kind: menu, text: left, options: [{ text: a, to: right }] }
  right: { kind: menu, text: left, options: [{ text: b, to: left }] }
`;
const texts =
  'home: Home\na: A\nb: B\nc: C\ncode: Code?\namount: How much?\nexact: Exactly\nthanks: Thanks {chosen}\nleft: Round\n';

test('dead ends, circles, questions without an answer, and what was not reached', async () => {
  await using dir = await writeProgram(states, texts);
  const report = await explorePrograms({ folder: dir.path });
  expect(report.ok).toBe(false);
  expect(report.lines.map((line) => line.replace(join(dir.path, 'program.yaml'), 'FILE'))).toEqual([
    expect.stringMatching(
      /^FILE:16: state choose: shows no option: nothing leads on from here \(en: \*384\*5#, then 2 \d+\)$/,
    ),
    expect.stringMatching(
      /^FILE:10: state code: accepts none of \d+ answers; record a dialogue in flows\/ that answers it \(en: \*384\*5#, then 1\)$/,
    ),
    'FILE:18: state left: nothing but Back and Exit leads out of left, right (en)',
    'note: FILE:14: state never: not reached (en)',
    expect.stringMatching(/^small \(en\): 10 of 11 states in \d+ steps$/),
  ]);
  expect(report.findings[0]).toMatchObject({ kind: 'fault', program: 'small', languages: ['en'], line: 16 });
});

test('answers are made from the pattern of a question', async () => {
  const plates = states.replace(
    'pattern: "Q[0-9]{3}Z", check: { that: answer.contains("123"), hint: home }',
    'pattern: "K[A-Z]{2} ?[0-9]{3}[A-Z]"',
  );
  await using dir = await writeProgram(plates, texts);
  const { lines } = await explorePrograms({ folder: dir.path });
  expect(lines.join('\n')).not.toContain('state code');
});

test('a recorded dialogue gives the answers that nobody can guess, and limits are kept', async () => {
  const flow = 'name: x\nsteps: [{ dial: "*384*5#", reply: x }, { send: 1, reply: x }, { send: Q123Z, reply: x }]\n';
  await using dir = await writeProgram(states, texts, { 'flows/code.yaml': flow });
  const { lines } = await explorePrograms({ folder: dir.path });
  expect(lines.join('\n')).not.toContain('state code');
  expect(lines.join('\n')).toMatch(
    /note: \S+:17: state thanks: \{chosen\} is empty here \(en: \*384\*5#, then 1 Q123Z\)/,
  );
  const short = await explorePrograms({ folder: dir.path, maxSteps: 3 });
  expect(short.lines.join('\n')).toMatch(/state thanks: not reached[\s\S]*stopped at the limit$/);
});

test('what a program does not use of the one it extends is no note', async () => {
  await using dir = await writeProgram(
    `
  home: { kind: menu, text: home, options: [{ text: a, to: own }] }
  own: { kind: page, text: exact, requires: authenticated }
`,
    'home: Home\na: A\nexact: Exactly\n',
  );
  const { ok, lines } = await explorePrograms({ folder: dir.path });
  expect(ok).toBe(true);
  expect(lines.join('\n')).not.toContain('not reached');
});

test('the bundled program and every program of examples/ have no fault in any language', async () => {
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'program.yaml'), 'name: bundled\nextends: palaver\n');
  const bundled = await explorePrograms({ folder: dir.path, maxSteps: 4_000 });
  expect(bundled.lines.filter((line) => !line.startsWith('note: '))).toEqual([
    expect.stringMatching(/^bundled \(en\): (\d+) of \1 states in \d+ steps$/),
    expect.stringMatching(/^bundled \(fr\): (\d+) of \1 states in \d+ steps$/),
    expect.stringMatching(/^bundled \(sw\): (\d+) of \1 states in \d+ steps$/),
  ]);
  const examples = join(import.meta.dirname, '../../../examples');
  const report = await explorePrograms({ folder: examples, maxSteps: 4_000 });
  expect(report.findings.filter(({ kind }) => kind === 'fault')).toEqual([]);
  expect(report.programs.length).toBeGreaterThanOrEqual(3);
});
