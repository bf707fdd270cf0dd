import { checkProgram, type Menu, openDialogue, renderScreen, takeInput, toInput } from '@palaver/program/internal';
import { expect, test } from 'vitest';
import { largeProgram } from '../../test/large-program.ts';
import { defaultSignatures } from '../actions/default-signatures.ts';
import { bundledProgram, toRegistry } from './bundled-program.ts';
import { createProgramChecks } from './program-checks.ts';
import { toSource } from './program-files.ts';
import { readProgramSource } from './read-source.ts';

const registry = toRegistry(defaultSignatures);
const base = await readProgramSource(bundledProgram);
const large = toSource('large', largeProgram(400));

function dial(menu: Menu, inputs: string[]): string {
  const caller = { phoneNumber: '+254700000001', now: 0 };
  let { dialogue } = openDialogue(menu, { language: 'en' }, caller);
  for (const part of inputs.keys()) dialogue = takeInput(menu, dialogue, toInput(inputs, part)).dialogue;
  return renderScreen(menu, dialogue).text;
}

test('a program that was checked in another thread is the one that would have been checked here', async () => {
  const checks = createProgramChecks(registry);
  const [here, there] = [checkProgram(large, registry, base), await checks.check(large, base)];
  if (!here.ok || !there.ok) throw new Error('the program has no faults');
  const { expressions, ...menu } = there.menu;
  const { expressions: known, ...same } = here.menu;
  expect(menu).toEqual(same);
  expect([...expressions.keys()]).toEqual([...known.keys()]);
  for (const one of [here.menu, there.menu]) expect(dial(one, ['1', '7'])).toMatch(/^7 gives 15\n1\. Further/);

  const text = (large.files[1]?.text ?? '').replace('to: add7 ', 'to: ad7 ');
  const faulty = { ...large, files: large.files.map((file, i) => (i === 1 ? { ...file, text } : file)) };
  const there2 = await checks.check(faulty, base);
  expect(there2).toEqual(checkProgram(faulty, registry, base));
  expect(there2).toMatchObject({
    ok: false,
    faults: [{ state: 'ask7', message: expect.stringContaining('did you mean') }],
  });
  checks.close();
});

test('another thread knows the answers that actions need', async () => {
  const checks = createProgramChecks(registry);
  const program = `name: p
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: p.home, options: [{ text: p.go, to: logIn }] }
`;
  const source = toSource('p', { 'program.yaml': program, 'locales/en.yaml': 'p: { home: Home, go: Go }\n' });
  const here = checkProgram(source, registry, base);
  expect(here).toMatchObject({ ok: false, faults: [{ message: expect.stringContaining('needs the answer pin') }] });
  expect(await checks.check(source, base)).toEqual(here);
  checks.close();
});

test('a small program that takes long to check has the same time limit', async () => {
  const hurried = createProgramChecks(registry, { timeoutMs: 1 });
  expect(await hurried.checkDraft(toSource('large', largeProgram(4)), base)).toMatchObject({
    ok: false,
    faults: [{ message: expect.stringMatching(/^a draft took too long/) }],
  });
  hurried.close();
});

test('a check that takes too long is a fault, and the next one has a new thread', async () => {
  const hurried = createProgramChecks(registry, { timeoutMs: 1 });
  for (let i = 0; i < 2; i++)
    expect(await hurried.check(large, base)).toMatchObject({
      ok: false,
      faults: [{ file: 'program.yaml', message: expect.stringMatching(/^the check of a program took too long/) }],
    });
  hurried.close();
});
