import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkMenu,
  checkProgram,
  drawMenu,
  formatFault,
  type Menu,
  openDialogue,
  parseLocale,
  parseMenu,
  renderScreen,
  takeInput,
  takeResult,
  toInput,
} from '@palaver/program/internal';
import { createTempDir } from '@palaver/test-kit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultSignatures } from '../src/actions/default-signatures.ts';
import { bundledProgram, toRegistry } from '../src/catalog/bundled-program.ts';
import { readProgramSource } from '../src/catalog/read-source.ts';
import { checkProgramFiles } from '../src/commands/check-programs.ts';
import { copyBundled } from './write-program.ts';

const registry = {
  actions: { save: { outcomes: ['saved', 'failed'], finishes: true } },
  validators: { word: { hints: ['hint.word'], check: (value: string) => ({ ok: true as const, value }) } },
  texts: ['service.text'],
};

const menu = `start: top
exit: bye
states:
  top:
    kind: menu
    text: top
    options:
      - { key: 1, text: one, to: ask }
  ask:
    kind: prompt
    text: ask
    validator: word
    save: word
    to: save
  save:
    kind: action
    action: save
    outcomes: { saved: bye, failed: { to: ask, hint: failed } }
  bye:
    kind: end
    text: bye
`;
const locale = `common: { more: More, back: Back, exit: Exit }
hint: { empty: E, choice: C, word: W }
service: { text: S }
top: Top
one: One
ask: Ask
failed: Failed
bye: Bye
`;

function faultsOf(menuText: string, localeTexts: Record<string, string> = { en: locale }): string[] {
  const locales = Object.entries(localeTexts).map(([name, text]) => parseLocale(`${name}.yaml`, name, text));
  const check = checkMenu({ files: [parseMenu('menu.yaml', menuText)], locales }, registry);
  return check.ok ? [] : check.faults.map(formatFault);
}

/** A menu that was let in must carry a dialogue, whatever is typed and whatever its actions report. */
function playThrough(loaded: Menu): void {
  const inputs = ['1', '', '98', 'word', '0', '1', 'word', '*'];
  for (const outcome of registry.actions.save.outcomes) {
    let step = openDialogue(loaded, { language: 'en' }, { phoneNumber: '+254700000001', now: 0 });
    for (const part of inputs.keys()) {
      expect(renderScreen(loaded, step.dialogue).text).not.toBe('');
      step = takeInput(loaded, step.dialogue, toInput(inputs, part));
      if (step.pending) step = takeResult(loaded, step.dialogue, { outcome });
    }
    expect(step.ended).toBe(true);
  }
}

describe('checking menus', () => {
  test('a right one passes', () => {
    expect(faultsOf(menu)).toEqual([]);
  });

  test.each([
    [
      'an unreachable state',
      menu.replace('  bye:\n', '  lost: { kind: page, text: top }\n  bye:\n'),
      'menu.yaml:19: state lost: cannot be reached from the start',
    ],
    [
      'a dangling target',
      menu.replace('to: ask }', 'to: nowhere }'),
      'menu.yaml:8: state top: leads to nowhere, which does not exist',
    ],
    [
      'options that share a key',
      menu.replace('to: ask }', 'to: ask }\n      - { key: 1, text: one, to: bye }'),
      'menu.yaml:9: state top: two options share the key 1',
    ],
    ['a reserved key', menu.replace('key: 1', 'key: 98'), 'menu.yaml:8: state top: the key 98 is reserved'],
    [
      'a prompt without a way back',
      menu.replace('    to: save', '    to: save\n    back: false'),
      'menu.yaml:15: state ask: a prompt must have a way back',
    ],
    [
      'an unknown validator',
      menu.replace('validator: word', 'validator: wurd'),
      'menu.yaml:12: state ask: there is no validator wurd',
    ],
    [
      'a validator that is only in the prototype',
      menu.replace('validator: word', 'validator: constructor'),
      'menu.yaml:12: state ask: there is no validator constructor',
    ],
    [
      'an unknown action',
      menu.replace('action: save', 'action: safe'),
      'menu.yaml:17: state save: there is no action safe',
    ],
    [
      'an outcome not covered',
      menu.replace(', failed: { to: ask, hint: failed }', ''),
      'menu.yaml:18: state save: the outcome failed of save leads nowhere',
    ],
    [
      'an outcome that does not exist',
      menu.replace('saved: bye', 'saved: bye, done: bye'),
      'menu.yaml:18: state save: save has no such outcome',
    ],
    ['a missing text', menu.replace('text: one', 'text: two'), 'menu.yaml:8: state top: the text two is missing in en'],
    [
      'an unknown kind',
      menu.replace('kind: page', 'kind: x').replace('kind: prompt', 'kind: ask'),
      'menu.yaml:10: state ask: kind: ',
    ],
    [
      'an unknown field',
      menu.replace('save: word', 'save: word\n    wait: 3'),
      'menu.yaml:9: state ask: there is no field wait here',
    ],
    ['a missing field', menu.replace('    to: save\n', ''), 'menu.yaml:9: state ask: to is missing'],
    [
      'a start that is no menu',
      menu.replace('start: top', 'start: ask'),
      'menu.yaml:1: start must name a state of kind menu, ask is a prompt',
    ],
    [
      'an exit that does not exist',
      menu.replace('exit: bye', 'exit: gone'),
      'menu.yaml:2: exit must name a state of kind end, gone does not exist',
    ],
    ['no start', menu.replace('start: top\n', ''), 'menu.yaml:1: no file names the start state'],
    ['a state defined twice', `${menu}  top: { kind: end, text: bye }\n`, 'menu.yaml:22: this key is defined twice'],
    ['no YAML', 'start: [', 'menu.yaml:1: '],
    ['an alias bomb', 'a: &a [x]\nb: [*a, *a]\nstates: {}', 'menu.yaml:2: *a: aliases are not read'],
    [
      'the resume target without its condition',
      menu.replace('to: ask }', "to: ask }\n      - { key: 2, text: one, to: '@resume' }"),
      'menu.yaml:9: state top: @resume needs "when: resumable"',
    ],
    [
      'actions in a circle',
      menu.replace('saved: bye', 'saved: save'),
      'menu.yaml:15: state save: its actions lead in a circle',
    ],
  ])('%s is a fault with its place', (_, text, fault) => {
    expect(faultsOf(text).map((found) => found.slice(0, fault.length))).toContain(fault);
  });

  test('options may share a key when only one of them is ever shown', () => {
    const two = menu.replace(
      'to: ask }',
      'to: ask, when: anonymous }\n      - { key: 1, text: one, to: bye, when: authenticated }',
    );
    expect(faultsOf(two)).toEqual([]);
  });

  test.each([
    [
      'a missing translation',
      locale.replace('one: One\n', ''),
      'menu.yaml:8: state top: the text one is missing in sw',
    ],
    [
      'a text of the service',
      locale.replace('service: { text: S }\n', ''),
      'sw.yaml:1: the text service.text, which the service uses, is missing',
    ],
    ['an empty text', locale.replace('one: One', "one: ''"), 'sw.yaml:5: the text one is empty'],
    ['other placeholders', locale.replace('one: One', "one: '{name}'"), 'the text one has other placeholders than in'],
    ['no text', locale.replace('one: One', 'one: [1]'), 'sw.yaml:5: one is not a text'],
    [
      'a question that does not fit',
      locale.replace('ask: Ask', `ask: ${'Ask '.repeat(60)}`),
      'menu.yaml:11: state ask: the question ask with the hint hint.empty does not fit one screen in sw',
    ],
    [
      'a closing message that does not fit',
      locale.replace('bye: Bye', `bye: ${'Bye '.repeat(60)}`),
      'menu.yaml:21: state bye: the text bye does not fit one screen in sw',
    ],
  ])('%s is a fault', (_, text, fault) => {
    expect(faultsOf(menu, { en: locale, sw: text })).toContainEqual(expect.stringContaining(fault));
  });

  test('any menu file either loads or is refused with a message', () => {
    const line = fc.constantFrom(...menu.split('\n'));
    const shuffled = fc.array(line, { maxLength: 25 }).map((lines) => lines.join('\n'));
    const cut = fc
      .tuple(fc.nat(menu.length), fc.nat(menu.length))
      .map(([from, to]) => menu.slice(0, from) + menu.slice(to));
    const words = menu.match(/\w+/g) ?? [];
    const exchanged = fc.tuple(fc.nat(words.length), fc.constantFrom(...words)).map(([at, word]) => {
      let index = 0;
      return menu.replace(/\w+/g, (found) => (index++ === at ? word : found));
    });
    let loaded = 0;
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), shuffled, cut, exchanged),
        fc.oneof({ weight: 3, arbitrary: fc.constant(locale) }, fc.string()),
        (text, texts) => {
          const check = checkMenu(
            { files: [parseMenu('menu.yaml', text)], locales: [parseLocale('en.yaml', 'en', texts)] },
            registry,
          );
          if (check.ok) {
            loaded++;
            return playThrough(check.menu);
          }
          expect(check.faults).not.toEqual([]);
          for (const fault of check.faults) {
            expect(formatFault(fault)).toMatch(/^(menu|en)\.yaml:\d+: .|^locales:1: ./s);
          }
        },
      ),
      { numRuns: 400 },
    );
    expect(loaded).toBeGreaterThan(0);
  });
});

const bundled = await readProgramSource(bundledProgram);

describe('the default menus', () => {
  test('have no faults, and no text is unused', async () => {
    const check = checkProgram(bundled, toRegistry(defaultSignatures), bundled);
    expect(check).toMatchObject({ ok: true, warnings: [] });
    if (check.ok) expect([...check.menu.locales.keys()]).toEqual(['en', 'fr', 'sw']);
  });

  test('are drawn as a Mermaid tree', async () => {
    const check = checkProgram(bundled, toRegistry(defaultSignatures), bundled);
    if (!check.ok) throw new Error('faults');
    const drawing = drawMenu(check.menu, 'en');
    expect(drawing).toMatch(/^flowchart TD\n/);
    expect(drawing).toContain('  preMenu["preMenu: Welcome to Palaver"]\n  preMenu -->|1| about\n');
    for (const name of check.menu.states.keys()) expect(drawing).toContain(`  ${name}`);
  });

  test('states of the same name in two files, missing folders and empty ones are faults', async () => {
    await using dir = await createTempDir();
    const folder = join(dir.path, 'mine');
    copyBundled(folder, 'mine');
    writeFileSync(join(folder, 'zz.yaml'), 'states:\n  about: { kind: end, text: main.goodbye }\n');
    const twice = await checkProgramFiles({ folder });
    expect(twice.lines).toEqual([
      expect.stringMatching(
        /zz\.yaml:2: state about: is already defined in .*program\.yaml:\d+: rename one of the two$/,
      ),
    ]);
    const missing = await checkProgramFiles({ folder: join(dir.path, 'none') });
    expect(missing.faults).toEqual([expect.objectContaining({ file: join(dir.path, 'none') })]);
    mkdirSync(join(dir.path, 'empty'));
    const empty = await checkProgramFiles({ folder: join(dir.path, 'empty') });
    expect(empty.faults).toEqual([
      expect.objectContaining({ message: 'there is no program.yaml here or in a folder of it' }),
    ]);
  });
});
