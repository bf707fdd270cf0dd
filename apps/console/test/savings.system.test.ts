// The savings example, built by clicking and typing alone: its own dialogues pass on what comes out.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { testPrograms } from '@palaver/ussd/commands/test-programs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findBarriers, keepPicture, openPage, startTestConsole, type TestConsole } from './start-console.ts';

const example = join(import.meta.dirname, '../../../examples/savings-group');

let palaver: TestConsole;
beforeAll(async () => {
  palaver = await startTestConsole();
});
afterAll(async () => {
  await palaver?.[Symbol.asyncDispose]();
});

/** What somebody does in the editor. */
function createBuilder(page: Page) {
  const panel = page.locator('.state-panel');
  const enter = async (field: Locator, text: string) => {
    await field.fill(text);
    await field.press('Enter');
  };
  const open = async (name: string) => {
    await page.getByLabel('Find a state or text').fill(name);
    await page
      .getByRole('treeitem', { name: new RegExp(`\\b${name}\\b`) })
      .first()
      .click();
    await page.getByRole('region', { name, exact: true }).waitFor();
    await page.getByLabel('Find a state or text').fill('');
  };
  /** Adds a state after the one that is open, by its text; `name` is what its state is called then. */
  const add = async (text: string, kind: string, name: string, does?: string) => {
    await page.getByLabel(/^New step/).fill(text);
    await page.getByRole('combobox', { name: 'Kind', exact: true }).selectOption({ label: kind });
    if (does) await page.getByLabel('What it does').selectOption({ label: does });
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await panel.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
    const field = panel.getByRole('textbox', { name: 'Name', exact: true });
    if ((await field.inputValue()) !== name) await enter(field, name);
    await page.getByRole('region', { name, exact: true }).waitFor();
  };
  return {
    panel,
    enter,
    open,
    add,
    async texts(label: 'Text' | 'Sentence', said: Record<string, string>) {
      for (const [language, text] of Object.entries(said))
        await panel.getByLabel(`${label}, ${language}`).first().fill(text);
    },
    /** Adds an entry to a map of an action, with what is written there. */
    async entry(map: string, name: string, value?: string) {
      const fields = panel.getByRole('group', { name: map, exact: true });
      await enter(fields.getByLabel(`New entry of ${map.split(' ').at(-1)}`), name);
      const field = fields.getByRole('textbox', { name: `${map} › ${name}`, exact: true });
      if (value === undefined) await field.waitFor();
      else await enter(field, value);
    },
    removeEntry: (map: string, name: string) => panel.getByRole('button', { name: `Remove ${map} › ${name}` }).click(),
    async choice(number: number, texts: Record<string, string>, to: string) {
      const group = panel.getByRole('group', { name: `Choice ${number}`, exact: true });
      if ((await group.count()) === 0) await panel.getByRole('button', { name: 'Add a choice' }).click();
      for (const [language, text] of Object.entries(texts)) await group.getByLabel(`Text, ${language}`).fill(text);
      await group.getByLabel('Leads to').selectOption(to);
    },
    leads: (outcome: string, to: string) => panel.getByLabel(`${outcome} leads to`).selectOption(to),
  };
}

/** The words of the example in its three languages. */
const words = Object.fromEntries(
  ['en', 'fr', 'sw'].map((language) => [
    language,
    parse(readFileSync(join(example, `locales/${language}.yaml`), 'utf8')),
  ]),
);
const say = (key: string): Record<string, string> => {
  const [group = '', name = ''] = key.split('.');
  return Object.fromEntries(Object.entries(words).map(([language, texts]) => [language, texts[group][name]]));
};

test('the savings example is built by clicking, and its dialogues pass', async () => {
  await using opened = await openPage(palaver, '/programs');
  const { page, complaints } = opened;
  const { panel, enter, open, add, texts, choice, leads, entry, removeEntry } = createBuilder(page);

  await page.getByLabel('Name of a new program').fill('Savings group');
  await page.getByLabel('Service code').fill('*384*42#');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'Settings' }).click();
  for (const language of ['fr', 'sw']) await enter(page.getByLabel('Another language'), language);
  await page.getByText('Swahili', { exact: true }).waitFor();
  await enter(page.getByLabel('New kind of record'), 'movement');
  for (const [field, type] of Object.entries({ amount: 'decimal', kind: 'text', day: 'date' })) {
    await enter(page.getByLabel('New entry of movement'), field);
    await page.getByRole('combobox', { name: field, exact: true }).selectOption(type);
  }
  expect(await findBarriers(page)).toEqual([]);
  await keepPicture(page, 'programs-settings');
  await page.getByRole('button', { name: 'Outline' }).click();

  await open('about');
  await enter(panel.getByRole('textbox', { name: 'Name', exact: true }), 'nothing');
  await texts('Text', say('balance.nothing'));

  // Depositing.
  await open('home');
  await add('How much do you deposit?', 'Question', 'amount');
  await texts('Text', say('deposit.amount'));
  await enter(panel.getByLabel('Saved as'), 'amount');
  await panel.getByLabel('Type of answer').selectOption({ label: 'Decimal number' });
  await enter(panel.getByLabel('At least'), '50');
  await enter(panel.getByLabel('At most'), '100000');
  await panel.getByText('The answer must also hold', { exact: true }).first().click();
  await enter(panel.getByLabel('The answer must also hold: expression'), 'answer % 10 == 0');
  await texts('Sentence', say('deposit.tens'));
  await add('Deposit {amount}?', 'Menu', 'confirm');
  await texts('Text', say('deposit.confirm'));
  await add('keep', 'Action', 'keep', 'Store a record');
  await entry('fields', 'amount');
  await entry('fields', 'kind', '"deposit"');
  await entry('fields', 'day', 'today');
  await add('findBalance', 'Action', 'findBalance', 'Add up records');
  await removeEntry('save', 'findBalanceCount');
  await entry('save', 'saved', 'sum(amount)');
  await entry('save', 'movements', 'count()');
  await add('size', 'Branch', 'size');
  const first = panel.getByRole('group', { name: 'Condition 1', exact: true });
  await first.getByRole('button', { name: 'Add a comparison' }).click();
  await first.getByLabel('Question or value').selectOption('saved');
  const compared = first.getByLabel('expression');
  await expect.poll(() => compared.inputValue()).toBe('saved >= 0');
  await enter(first.getByRole('textbox', { name: 'Value', exact: true }), '5000');
  await expect.poll(() => compared.inputValue()).toBe('saved >= 5000');
  await add('saver', 'Page', 'saver');
  await texts('Text', say('balance.saved'));
  await add('bigSaver', 'Page', 'bigSaver');
  await texts('Text', say('balance.big'));
  await add('list', 'Action', 'list', 'Find records');
  await enter(panel.getByRole('textbox', { name: 'save', exact: true }), 'mine');
  await add('Your payments', 'Menu', 'payments');
  await texts('Text', say('balance.list'));
  await add('one', 'Page', 'one');
  await texts('Text', say('balance.one'));
  await open('payments');
  await panel.getByLabel('Choices come from').selectOption('mine');
  await panel.getByLabel('Column that is shown').selectOption('day');
  await enter(panel.getByLabel('Saved as'), 'oneAmount');
  await panel.getByRole('button', { name: 'Keep another column' }).click();
  await panel.getByRole('combobox', { name: 'Column', exact: true }).last().selectOption('day');
  await enter(panel.getByLabel('Saved as').last(), 'oneDay');
  await panel.getByLabel('Leads to', { exact: true }).selectOption('one');
  expect(await findBarriers(page)).toEqual([]);
  await keepPicture(page, 'programs-list-fields');
  await open('list');
  await leads('none', 'nothing');
  await open('saver');
  await choice(1, say('balance.list'), 'list');
  await open('bigSaver');
  await choice(1, say('balance.list'), 'list');
  await open('size');
  await panel.getByLabel('saved >= 5000 leads to').selectOption('bigSaver');
  await open('findBalance');
  await leads('none', 'nothing');
  await open('confirm');
  await choice(1, say('common.yes'), 'keep');
  await choice(2, say('common.no'), 'home');

  // The group's balance.
  await open('home');
  await add('findGroup', 'Action', 'findGroup', 'Add up records');
  await panel.getByRole('combobox', { name: 'of', exact: true }).selectOption('everyone');
  await removeEntry('save', 'findGroupCount');
  await entry('save', 'total', 'sum(amount)');
  await add('groupPage', 'Page', 'groupPage');
  await texts('Text', say('balance.group'));
  await open('findGroup');
  await leads('none', 'nothing');

  // Withdrawing.
  await open('home');
  await add('findOwn', 'Action', 'findOwn', 'Add up records');
  await panel.getByLabel('Only for callers who have logged in').check();
  await removeEntry('save', 'findOwnCount');
  await entry('save', 'saved', 'sum(amount)');
  await add('enough', 'Branch', 'enough');
  await enter(panel.getByLabel('Condition 1: expression'), 'saved >= 50');
  await add('How much do you withdraw?', 'Question', 'wanted');
  await texts('Text', say('withdraw.amount'));
  await panel.getByLabel('Type of answer').selectOption({ label: 'Decimal number' });
  await enter(panel.getByLabel('At least'), '50');
  await enter(panel.getByLabel('At most'), '100000');
  await enter(panel.getByLabel('Saved as'), 'wanted');
  await panel.getByText('The answer must also hold', { exact: true }).first().click();
  await panel.getByRole('button', { name: 'Add a comparison: The answer must also hold' }).click();
  const check = panel.getByRole('group', { name: 'The answer must also hold', exact: true });
  await check.getByRole('combobox', { name: 'Comparison' }).selectOption({ label: 'is at most' });
  await expect.poll(() => check.getByLabel('expression').inputValue()).toBe('answer <= 0');
  await enter(check.getByRole('textbox', { name: 'Value', exact: true }), 'saved');
  await expect.poll(() => check.getByLabel('expression').inputValue()).toBe('answer <= saved');
  await texts('Sentence', say('withdraw.tooMuch'));
  await keepPicture(page, 'programs-condition');
  await add('Withdraw?', 'Menu', 'confirmWithdrawal');
  await texts('Text', say('withdraw.confirm'));
  await add('take', 'Action', 'take', 'Store a record');
  await entry('fields', 'amount', '-wanted');
  await entry('fields', 'kind', '"withdrawal"');
  await entry('fields', 'day', 'today');
  // Other calls may have withdrawn since the balance was read.
  await entry('check › save', 'saved', 'sum(amount)');
  await enter(panel.getByRole('textbox', { name: 'check › that' }), 'wanted <= saved');
  await add('rest', 'Values', 'rest');
  await entry('values', 'left', 'saved - wanted');
  await add('taken', 'Page', 'taken');
  await texts('Text', say('withdraw.done'));
  await open('rest');
  await panel.getByLabel('Leads to', { exact: true }).selectOption('taken');
  await open('take');
  await enter(panel.getByLabel('New outcome'), 'refused');
  await leads('refused', 'wanted');
  await panel.getByRole('button', { name: 'Say something after refused' }).click();
  await texts('Sentence', say('withdraw.tooMuch'));
  await open('confirmWithdrawal');
  await choice(1, say('common.yes'), 'take');
  await choice(2, say('common.no'), 'home');
  await open('enough');
  await panel.getByLabel('saved >= 50 leads to').selectOption('wanted');
  await panel.getByLabel('else leads to').or(panel.getByLabel('leads to').last()).last().selectOption('nothing');
  await open('findOwn');
  await leads('none', 'nothing');

  await open('home');
  await texts('Text', say('home.title'));
  for (const [i, [key, to]] of Object.entries({
    deposit: 'amount',
    withdraw: 'findOwn',
    balance: 'findBalance',
    group: 'findGroup',
  }).entries())
    await choice(i + 1, say(`home.${key}`), to);
  for (const name of ['saver', 'bigSaver', 'amount', 'findBalance', 'taken', 'payments']) {
    await open(name);
    await enter(panel.getByLabel('Group'), name === 'taken' ? 'withdrawals' : 'deposits');
  }
  await page.locator('.problems.notice-warn').waitFor({ state: 'detached' });
  await page.getByText('Draft saved').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await keepPicture(page, 'programs-savings');
  await page.getByRole('button', { name: 'Map', exact: true }).click();
  await page.locator('.program-map[data-ready=true] [data-state=home]').waitFor();
  await keepPicture(page, 'programs-savings-map');

  const draft = await fetch(`${palaver.url}/api/ussd-gateway/api/ussd/programs/savings-group/draft`);
  const { files } = (await draft.json()) as { files: Record<string, string> };
  expect(Object.keys(files).sort()).toEqual([
    ...['deposits.yaml', 'locales/en.yaml', 'locales/fr.yaml', 'locales/sw.yaml', 'program.yaml', 'withdrawals.yaml'],
  ]);
  await using dir = await createTempDir();
  const folder = join(dir.path, 'savings-group');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  cpSync(join(example, 'flows'), join(folder, 'flows'), { recursive: true });
  const { lines } = await testPrograms({ folder: dir.path });
  expect(lines.filter((line) => line.startsWith('ok'))).toHaveLength(3);
  expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([]);
  expect(complaints).toEqual([]);
});
