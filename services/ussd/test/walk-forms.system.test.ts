// Whole forms, filled in with made-up answers in every language: no fault, no dead end, and no screen that is too long.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createForms, exploreForm, questionsOf, walkForm } from '@palaver/forms/internal';
import {
  checkProgram,
  countPages,
  type Dialogue,
  type FormSource,
  isGsm,
  type Menu,
  renderScreen,
} from '@palaver/program/internal';
import { createTempDir, makeWorkbook } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { defaultSignatures } from '../src/actions/default-signatures.ts';
import { bundledProgram, toRegistry } from '../src/catalog/bundled-program.ts';
import { readProgramSource } from '../src/catalog/read-source.ts';
import { type Sample, samples, toXForm } from './sample-forms.ts';

const survey = join(import.meta.dirname, '../../../examples/household-survey');

async function loadSurvey(): Promise<Menu> {
  const base = await readProgramSource(bundledProgram);
  const check = checkProgram(await readProgramSource(survey), toRegistry(defaultSignatures), base);
  if (!check.ok) throw new Error(JSON.stringify(check.faults));
  return check.menu;
}

/** Every page of a screen fits a phone. */
function expectToFit(menu: Menu, dialogue: Dialogue): void {
  for (let page = 0; page < countPages(menu, dialogue); page++) {
    const { text } = renderScreen(menu, { ...dialogue, page });
    expect(text.length, text).toBeLessThanOrEqual(isGsm(text) ? 182 : 80);
  }
}

test('the household survey is filled in to its end, in three languages', async () => {
  const menu = await loadSurvey();
  const source = menu.forms.get('forms/household.xml') as FormSource;
  await using forms = createForms();
  for (const strategy of ['first', 'last'] as const) {
    for (const language of menu.locales.keys()) {
      const seen = new Set<string>();
      const { answers } = await walkForm({
        strategy,
        press: (shown, input) =>
          forms.press(source, {
            language,
            phoneNumber: '+254700000001',
            ...(shown && { progress: shown.progress }),
            ...(input !== undefined && { input }),
          }),
        see({ screen, progress }) {
          seen.add(progress.at);
          const form = { state: 'household', screen, progress };
          expectToFit(menu, { state: 'household', stack: ['home'], page: 0, values: {}, secrets: {}, language, form });
        },
      });
      // Who does not agree is asked nothing more.
      expect(answers.consent).toBe(strategy === 'first' ? 'yes' : 'no');
      if (strategy === 'last') expect([...seen]).toEqual(['/data/welcome', '/data/consent', '/']);
      else expect(seen.size).toBeGreaterThan(45);
      if (strategy === 'first')
        expect(answers).toMatchObject({ village: 'ahero', children: '2', 'member[2]/first': 'Ana' });
    }
  }
});

test('each feature of ODK forms is filled in to its end, in several ways, and every question is seen', async () => {
  await using forms = createForms();
  const all = Object.entries(samples).map(([name, sample]) => {
    const source: FormSource = { xml: toXForm(sample), attachments: sample.attachments ?? {} };
    return { name, source };
  });
  // The thread inspects before it serves: later inspections have one each.
  for (const { name, source } of all) expect((await forms.inspect(source)).faults, name).toEqual([]);
  const shown = new Map<string, string[]>();
  for (const { name, source } of all) {
    const lines: string[] = [];
    const { faults, seen, submissions } = await exploreForm(forms, {
      source,
      language: 'fr',
      phoneNumber: '+254700000001',
      take: {},
      samples: [],
      see: ({ screen }) => lines.push(screen.body, ...(screen.options ?? []).map(({ label }) => label)),
      isOver: () => false,
    });
    shown.set(name, lines);
    expect(faults, name).toEqual([]);
    // After some answers the caller has to go back.
    if (/some answers/.test(name)) expect(submissions.length, name).toBeGreaterThan(0);
    else expect(submissions, name).toHaveLength(6);
    expect(
      questionsOf(source).filter((question) => !seen.has(question)),
      name,
    ).toEqual([]);
  }
  // A caller who types a huge number of instances waits for none of them; a constraint of the form is looked at first.
  for (const [name, key] of [
    ['repeat with a count', 'form.refused'],
    ['repeat with a count that is computed', 'hint.range'],
  ] as const) {
    const { source } = all.find((form) => form.name === name) as (typeof all)[number];
    const call = { language: 'en', phoneNumber: '+254700000001' };
    const begun = await forms.press(source, call);
    if (begun.kind !== 'screen') throw new Error('a form begins with a screen');
    const refused = await forms.press(source, { ...call, progress: begun.progress, input: '99999999' });
    expect(refused, name).toMatchObject({ kind: 'screen', screen: { hint: { key } } });
  }
  expect(shown.get('two languages')).toContain('Nom ?\nEn entier');
  expect(shown.get('choices without texts')).toContain('happy');
  expect(shown.get('labels with marks')).toContain('Title\nBold link tag');
  expect(shown.get('sums over a repeat')).toContainEqual(expect.stringMatching(/^Acres: [1-9]/));
});

test('a default that the form refuses cannot be kept, and an empty list says what to do', async () => {
  await using forms = createForms();
  const play = async (name: string, inputs: string[]) => {
    const source = { xml: toXForm(samples[name] as Sample), attachments: {} };
    const call = { language: 'en', phoneNumber: '+254700000001' };
    let reply = await forms.press(source, call);
    for (const input of inputs) {
      if (reply.kind !== 'screen') break;
      reply = await forms.press(source, { ...call, progress: reply.progress, input });
    }
    return reply;
  };
  const refused = 'default that the form refuses';
  const first = await play(refused, []);
  expect(first).toMatchObject({ kind: 'screen', screen: { type: 'date', optional: true } });
  expect(first).not.toHaveProperty('screen.answer');
  expect(await play(refused, ['000'])).toMatchObject({ kind: 'screen', progress: { at: '/data/b' } });
  expect(await play(refused, ['000', '000', '1'])).toMatchObject({ submission: { answers: { a: '', b: '0' } } });
  const empty = 'choices that some answers leave empty';
  for (const input of [[], ['000'], ['1']]) {
    expect(await play(empty, ['2', ...input])).toMatchObject({
      progress: { at: '/data/b' },
      screen: { type: 'choice', options: [], hint: { key: 'form.noChoices' } },
    });
  }
  const forbidden = 'note that forbids some answers';
  for (const input of [[], ['1']])
    expect(await play(forbidden, ['1', ...input])).toMatchObject({
      progress: { at: '/data/n' },
      screen: { type: 'note', hint: { key: 'form.blocked' } },
    });
  expect(await play(forbidden, ['1', '0', '2', '1'])).toMatchObject({ submission: { answers: { a: 'no' } } });
  expect(await play(empty, ['2', '0', '1', '1', '1'])).toMatchObject({ submission: { answers: { a: 'n', b: 'n1' } } });
});

test('a form of 27,000 elements is inspected in time', async () => {
  await using forms = createForms();
  const names = Array.from({ length: 9_000 }, (_, i) => `<item><name>n${i}</name><label>Name ${i}</label></item>`);
  const { data, body } = samples['select one'] as Sample;
  const xml = toXForm({ data, body, more: `<instance id="yn"><root>${names.join('')}</root></instance>` });
  expect(await forms.inspect({ xml, attachments: {} })).toMatchObject({ faults: [] });
  await using hasty = createForms({ inspectMs: 1 });
  expect(await hasty.inspect({ xml, attachments: {} })).toMatchObject({
    faults: [{ line: 1, message: 'the form cannot be loaded: it took too long' }],
  });
});

const plots = {
  survey: [
    ['type', 'name', 'label::English (en)', 'label::French (fr)', 'relevant', 'required', 'constraint', 'calculation'],
    ['text', 'name', 'Your name?', 'Votre nom ?', null, 'yes'],
    ['select_one yesno', 'farms', 'Do you farm?', 'Cultivez-vous ?', null, 'yes'],
    ['begin repeat', 'plot', 'Plot', 'Parcelle', `\${farms} = 'yes'`],
    ['decimal', 'acres', 'Acres?', 'Acres ?', null, 'yes', '. > 0'],
    ['end repeat'],
    ['calculate', 'total', null, null, null, null, null, `sum(\${acres})`],
  ],
  choices: [
    ['list_name', 'name', 'label::English (en)', 'label::French (fr)'],
    ['yesno', 'yes', 'Yes', 'Oui'],
    ['yesno', 'no', 'No', 'Non'],
  ],
};

test('what is not a workbook is a fault of its form', async () => {
  await using dir = await createTempDir();
  mkdirSync(join(dir.path, 'forms'));
  writeFileSync(join(dir.path, 'program.yaml'), '');
  writeFileSync(join(dir.path, 'forms/plots.xlsx'), 'not a workbook');
  await expect(readProgramSource(dir.path)).rejects.toThrow('it is not an Excel workbook');
});

test('an XLSForm is converted and filled in', async () => {
  await using dir = await createTempDir();
  mkdirSync(join(dir.path, 'forms'));
  const settings = [
    ['form_id', 'version'],
    ['plots', 7],
  ];
  writeFileSync(join(dir.path, 'forms/plots.xlsx'), makeWorkbook({ ...plots, settings }));
  writeFileSync(join(dir.path, 'forms/garden.xlsx'), makeWorkbook(plots));
  writeFileSync(join(dir.path, 'program.yaml'), '');
  const { files } = await readProgramSource(dir.path);
  const xml = files.find(({ path }) => path === 'forms/plots.xlsx')?.text ?? '';
  await using forms = createForms();
  const garden = files.find(({ path }) => path === 'forms/garden.xlsx')?.text ?? '';
  expect(await forms.inspect({ xml: garden, attachments: {} })).toMatchObject({ formId: 'garden', faults: [] });
  const source = { xml, attachments: {} };
  expect(await forms.inspect(source)).toMatchObject({ formId: 'plots', version: '7', faults: [] });
  const submission = await walkForm({
    strategy: 'first',
    press: (shown, input) =>
      forms.press(source, {
        language: 'fr',
        phoneNumber: '+254700000001',
        ...(shown && { progress: shown.progress }),
        ...(input !== undefined && { input }),
      }),
  });
  expect(submission.answers).toMatchObject({ farms: 'yes', 'plot[2]/acres': '2.5', total: '5' });
});
