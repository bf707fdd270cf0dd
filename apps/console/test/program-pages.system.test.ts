// Results, callers and the trial of a draft, in a real browser against everything running.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { testPrograms } from '@palaver/ussd/commands/test-programs';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import ar from '../web/i18n/ar.json' with { type: 'json' };
import en from '../web/i18n/en.json' with { type: 'json' };
import fr from '../web/i18n/fr.json' with { type: 'json' };
import sw from '../web/i18n/sw.json' with { type: 'json' };
import { setAnswerType, setListSource } from '../web/programs/edit-flow.ts';
import { addState, connectStates } from '../web/programs/edit-program.ts';
import { actionKeywords } from '../web/programs/keywords.ts';
import { answerTypes, templates } from '../web/programs/names.ts';
import { readProgram } from '../web/programs/read-program.ts';
import { createProgram } from '../web/programs/template-files.ts';
import {
  findBarriers,
  findSmallTargets,
  keepPicture,
  openPage,
  overflow,
  startTestConsole,
  type TestConsole,
} from './start-console.ts';

const form = `<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:jr="http://openrosa.org/javarosa">
<h:head><h:title>Visit</h:title><model>
<instance><data id="visit" version="1"><crop/><trees/><meta><instanceID/></meta></data></instance>
<bind nodeset="/data/crop" type="string" required="true()"/>
<bind nodeset="/data/trees" type="int"/>
<bind nodeset="/data/meta/instanceID" type="string" readonly="true()" jr:preload="uid"/>
</model></h:head>
<h:body>
<input ref="/data/crop"><label>Which crop?</label></input>
<input ref="/data/trees"><label>How many trees?</label></input>
</h:body></h:html>`;

const program = {
  'forms/visit.xml': form,
  'program.yaml': `name: market
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
records:
  order: { crop: text, bags: integer, note: text }
states:
  home: { kind: menu, text: t.home, options: [{ text: t.order, to: crop }, { text: t.visit, to: visit }] }
  crop: { kind: prompt, text: t.crop, type: text, save: crop, to: bags }
  bags: { kind: prompt, text: t.bags, type: integer, min: 1, max: 99, save: bags, to: note }
  note: { kind: prompt, text: t.note, type: text, save: note, to: keep }
  keep: { kind: action, store: order, fields: { crop: crop, bags: bags, note: note }, outcomes: { stored: tell } }
  tell: { kind: action, sms: { text: t.thanks }, outcomes: { queued: done, refused: done } }
  visit: { kind: form, form: forms/visit.xml, to: done }
  done: { kind: end, text: t.thanks }
`,
  'locales/en.yaml':
    't: { home: Market, order: Order, visit: Visit, crop: Crop?, bags: Bags?, note: Note?, thanks: Thank you }\n',
};
const crops = ['maize', 'beans', 'maize', 'sorghum', 'maize', 'beans'];
const customer = '+254711000003';

let palaver: TestConsole;
let isRefusing = true;
const smsServer = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(isRefusing ? 400 : 200).end('{}'));
});

const send = (path: string, body: unknown, method = 'POST') =>
  fetch(`${palaver.url}/api/ussd-gateway/api/ussd${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function post(path: string, body: unknown): Promise<string> {
  const reply = await send(path, body);
  expect(reply.status).toBe(200);
  return reply.text();
}

/** Whatever draft there is before. */
async function saveDraft(name: string, files: Record<string, string>): Promise<void> {
  const path = `/programs/${name}/draft`;
  const save = async () => {
    const draft = await fetch(`${palaver.url}/api/ussd-gateway/api/ussd${path}`);
    const { revision = 0 } = (await draft.json()) as { revision?: number };
    return (await send(path, { files, revision }, 'PUT')).status === 200;
  };
  // A page that was closed may have been saving its own.
  await waitFor('the draft', save, 60_000);
}

const dial = (sessionId: string, phoneNumber: string, text: string, serviceCode = '*384*9#') =>
  post('', { sessionId, serviceCode, phoneNumber, text });

beforeAll(async () => {
  await new Promise<void>((resolve) => smsServer.listen(0, '127.0.0.1', resolve));
  const { port } = smsServer.address() as AddressInfo;
  palaver = await startTestConsole({ SMS_PROVIDER: 'webhook', SMS_URL: `http://127.0.0.1:${port}/` });
  await saveDraft('market', program);
  await post('/programs/market/publish', {});
  for (const [i, crop] of crops.entries())
    expect(await dial(`o${i}`, `+25471100000${i}`, `1*${crop}*${7 * i + 3}*=cmd ${i}`)).toMatch(/^END Thank you/);
  // An account that is locked.
  await dial('r', customer, '2*1*Amina*4071*4071', '*1234#');
  for (const i of [1, 2, 3]) await dial(`wrong${i}`, customer, '2*2*9990', '*1234#');
});

beforeEach(() => saveDraft('market', program));

afterAll(async () => {
  await palaver[Symbol.asyncDispose]();
  smsServer.close();
});

async function download(page: Page, format: string): Promise<Buffer> {
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: format, exact: true }).click(),
  ]);
  expect(saved.suggestedFilename()).toBe(`market-order.${format.toLowerCase()}`);
  return readFileSync(await saved.path());
}

test('results are filtered, drawn, exported in three formats and sent again', async () => {
  await using opened = await openPage(palaver, '/programs?program=market&view=results');
  const { page, complaints } = opened;
  const rows = page.locator('.results-table tbody tr');
  await expect.poll(() => rows.count()).toBe(6);
  await page.getByText('1–6 of 6').waitFor();
  expect(await rows.first().textContent()).toMatch(/\+25471100\*{4}/);
  await keepPicture(page, 'results-table');
  await page.getByLabel('Text in an answer').fill('sorg');
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel('Text in an answer').fill('');

  await page.getByRole('button', { name: 'Charts' }).click();
  const crop = page.getByRole('figure', { name: 'crop' });
  await crop.getByRole('button', { name: /^maize 3 50%/ }).waitFor();
  await page.getByRole('figure', { name: 'bags' }).getByText('median 17, mean 20.5').waitFor();
  await page
    .getByRole('figure', { name: 'bags' })
    .getByRole('img', { name: /^0–4: 1, 10–14: 1/ })
    .waitFor();
  await page.getByRole('figure', { name: 'Results by day' }).waitFor();
  await keepPicture(page, 'results-charts');
  await crop.getByRole('button', { name: /^maize/ }).click();
  await page.getByRole('button', { name: 'Stop filtering by crop' }).waitFor();
  await expect.poll(() => rows.count()).toBe(3);

  const csv = (await download(page, 'CSV')).toString();
  expect(csv.split('\r\n')[0]).toBe('id,phoneNumber,createdAt,Crop?,Bags?,Note?');
  expect(csv).toContain('+254711000004,');
  expect(csv).toContain("'=cmd 4");
  expect(csv).not.toContain('beans');
  const json = JSON.parse((await download(page, 'JSON')).toString()) as { phoneNumber: string }[];
  expect(json.map(({ phoneNumber }) => phoneNumber)).toEqual(['+254711000004', '+254711000002', '+254711000000']);
  const sheet = unzipSync(new Uint8Array(await download(page, 'XLSX')))['xl/worksheets/sheet1.xml'];
  const cells = strFromU8(sheet ?? new Uint8Array());
  expect(cells).toContain('>=cmd 4<');
  expect(cells).toContain('<v>31</v>');
  expect(cells).not.toContain('<f>');

  await page.getByRole('combobox', { name: 'Show' }).selectOption({ label: 'Messages: SMS (6)' });
  const failed = page.locator('.results-table').getByText('failed', { exact: true });
  await expect.poll(() => failed.count(), { timeout: 60_000 }).toBe(6);
  await page.locator('.results-table').getByText(/400/).first().waitFor();
  await keepPicture(page, 'results-messages');
  isRefusing = false;
  await page.getByRole('button', { name: 'Send all 6 failed again' }).click();
  await page.getByText('6 are queued again.').waitFor();
  await expect
    .poll(
      async () => {
        await page.reload();
        await page.getByRole('combobox', { name: 'Show' }).selectOption({ label: 'Messages: SMS (6)' });
        await rows.first().waitFor();
        return page.locator('.results-table').getByText('sent', { exact: true }).count();
      },
      { timeout: 60_000 },
    )
    .toBe(6);
  expect(complaints).toEqual([]);
});

test('a submitted form is a row with its answers and where it is, and is drawn and exported', async () => {
  expect(await dial('visit', '+254711000005', '2*cassava*12*1')).toMatch(/^END Thank you/);
  await using opened = await openPage(palaver, '/programs?program=market&view=results');
  const { page, complaints } = opened;
  await page.getByRole('combobox', { name: 'Show' }).selectOption({ label: 'Form: visit (1)' });
  const row = page.getByRole('row', { name: /cassava/ });
  await row.getByRole('cell', { name: '12', exact: true }).waitFor();
  await row.getByRole('cell', { name: 'stored' }).waitFor();
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV', exact: true }).click(),
  ]);
  expect(readFileSync(await saved.path(), 'utf8')).toMatch(/\+254711000005,.*cassava,12/);
  await page.getByRole('button', { name: 'Charts' }).click();
  await page
    .getByRole('figure', { name: 'crop' })
    .getByRole('button', { name: /^cassava 1 100%/ })
    .waitFor();
  await keepPicture(page, 'results-form');
  expect(complaints).toEqual([]);
});

const survey = (choices: Record<string, string>) => ({
  'forms/wash.xml': `<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:jr="http://openrosa.org/javarosa">
<h:head><h:title>Wash</h:title><model>
<instance><data id="wash" version="${Object.keys(choices).join('-')}"><water/><meta><instanceID/></meta></data></instance>
<bind nodeset="/data/water" type="string" required="true()"/>
<bind nodeset="/data/meta/instanceID" type="string" readonly="true()" jr:preload="uid"/>
</model></h:head>
<h:body><select ref="/data/water"><label>Which water?</label>
${Object.entries(choices)
  .map(([value, label]) => `<item><label>${label}</label><value>${value}</value></item>`)
  .join('\n')}
</select></h:body></h:html>`,
  'program.yaml': `name: wash
title: Water and hygiene
codes: ["*384*10#"]
extends: palaver
languages: [en]
start: ask
states:
  ask: { kind: menu, text: t.home, options: [{ text: t.ask, to: wash }] }
  wash: { kind: form, form: forms/wash.xml, to: done }
  done: { kind: end, text: t.thanks }
`,
  'locales/en.yaml': 't: { home: Water, ask: Answer, thanks: Thank you }\n',
});

test('a question of several choices is drawn and exported by each choice, also by those of an earlier version', async () => {
  const publish = async (choices: Record<string, string>) => {
    await saveDraft('wash', survey(choices));
    await post('/programs/wash/publish', {});
  };
  await publish({ tap: 'A tap', well: 'A well', river: 'A river' });
  for (const [i, chosen] of ['1 2', '1', '1 3', '2'].entries())
    expect(await dial(`w${i}`, `+25471200000${i}`, `1*${chosen}*1`, '*384*10#')).toMatch(/^END Thank you/);
  await publish({ tap: 'Piped water', well: 'A well' });

  await using opened = await openPage(palaver, '/programs');
  const { page, complaints } = opened;
  await page.locator('.program-list').getByRole('link', { name: 'Water and hygiene', exact: true }).click();
  await page.getByRole('heading', { name: 'Programs / Water and hygiene' }).waitFor();
  await page.getByRole('button', { name: 'Results' }).click();
  await page.getByRole('cell', { name: 'Piped water, A river (no longer offered)' }).waitFor();
  await page.getByRole('button', { name: 'Charts' }).click();
  const water = page.getByRole('figure', { name: 'Which water?' });
  await water.getByText('4 answers').waitFor();
  await expect
    .poll(() => water.getByRole('listitem').allTextContents())
    .toEqual(['Piped water3 75%', 'A well2 50%', 'A river (no longer offered)1 25%']);
  expect(await findBarriers(page)).toEqual([]);
  await keepPicture(page, 'results-several');
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV', exact: true }).click(),
  ]);
  expect(readFileSync(await saved.path(), 'utf8')).toContain('"Piped water, A river (no longer offered)"');
  expect(complaints).toEqual([]);
});

test('a table of many and long answers is scrolled, and a long answer unfolds', async () => {
  const asked = Array.from({ length: 9 }, (_, i) => `q${i}`);
  const states = asked.map(
    (name, i) => `  ${name}: { kind: prompt, text: t.q, type: text, save: ${name}, to: ${asked[i + 1] ?? 'keep'} }`,
  );
  await saveDraft('wide', {
    'program.yaml': `name: wide
codes: ["*384*12#"]
extends: palaver
languages: [en]
start: home
records:
  visit: { ${asked.map((name) => `${name}: text`).join(', ')} }
states:
  home: { kind: menu, text: t.q, options: [{ text: t.q, to: q0 }] }
${states.join('\n')}
  keep: { kind: action, store: visit, fields: { ${asked.map((name) => `${name}: ${name}`).join(', ')} }, outcomes: { stored: done } }
  done: { kind: end, text: t.thanks }
`,
    'locales/en.yaml': 't: { q: Question?, thanks: Thank you }\n',
  });
  await post('/programs/wide/publish', {});
  const long = 'The nearest water point dried up in March. '.repeat(3).trim();
  const answers = asked.map((_, i) => (i === 0 ? long : i === 1 ? 'sustainability' : 'ok'));
  expect(await dial('wide', '+254713000001', ['1', ...answers].join('*'), '*384*12#')).toMatch(/^END Thank you/);
  await using opened = await openPage(palaver, '/programs?program=wide&view=results');
  const { page, complaints } = opened;
  const cell = page.locator('.long-value summary', { hasText: long });
  const height = async () => (await cell.boundingBox())?.height ?? 0;
  const folded = await height();
  await cell.click();
  await expect.poll(height).toBeGreaterThan(folded);
  // In one line: the table is wider than the window.
  const word = page.getByText('sustainability', { exact: true }).first();
  expect((await word.boundingBox())?.height).toBeLessThan(30);
  const scroller = page.getByRole('group', { name: 'Table' });
  const hidden = await scroller.evaluate((element) => {
    const { scrollWidth, clientWidth } = element as unknown as { scrollWidth: number; clientWidth: number };
    return scrollWidth - clientWidth;
  });
  expect(hidden).toBeGreaterThan(0);
  expect(await overflow(page)).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
  await keepPicture(page, 'results-wide');
  expect(complaints).toEqual([]);
});

test('a caller is masked, shown, unlocked, given a new PIN and an address, and erased', async () => {
  await using opened = await openPage(palaver, '/programs');
  const { page, complaints } = opened;
  await page.getByRole('link', { name: 'Callers' }).click();
  await page
    .getByRole('button', { name: /^\+25471100\*{4} / })
    .first()
    .waitFor();
  await keepPicture(page, 'callers-list');
  expect(await page.getByText(customer).count()).toBe(0);
  // From the list: the number stays masked, and nothing can be changed before it is shown.
  await page
    .getByRole('button', { name: /^\+25471100\*{4} / })
    .first()
    .click();
  await page.getByRole('heading', { name: '+25471100****' }).waitFor();
  expect(await page.getByRole('button', { name: 'Erase…' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Show the number' }).click();
  await page.getByRole('heading', { name: /^\+25471100000\d$/ }).waitFor();

  await page.getByLabel('Phone number').fill('+254 711 000 003');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: customer }).waitFor();
  expect(page.url()).not.toContain('711000003');
  await page.getByText('Amina').waitFor();
  await page.getByText('locked for a time').waitFor();
  await page.getByRole('region', { name: 'Sessions' }).first().getByText('*384*9#').waitFor();
  await page.getByText('crop: sorghum, bags: 24, note: =cmd 3').waitFor();
  await keepPicture(page, 'callers-one');

  await page.getByRole('button', { name: 'Unlock' }).click();
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('The account is unlocked.').waitFor();
  await page.getByText('not locked').waitFor();
  await page.getByRole('button', { name: 'Reset PIN…' }).click();
  await page.keyboard.press('Enter');
  const notice = await page.getByText(/The new PIN is \d{6}/).textContent();
  const pin = /\d{6}/.exec(notice ?? '')?.[0];
  expect(await dial('in', customer, `2*2*${pin}`, '*1234#')).toContain('Amina');
  await page.getByRole('button', { name: 'Link an address…' }).click();
  await page.keyboard.type('not an address');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page
    .getByRole('alert')
    .getByText(/address/)
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Link an address…' }).click();
  await page.keyboard.type(`ixo1${'q'.repeat(38)}`);
  await page.keyboard.press('Enter');
  await page.getByText('ixo1qq…qqqqqq').waitFor();
  await page.getByRole('button', { name: 'Erase…' }).click();
  expect(await page.getByRole('button', { name: 'Confirm' }).isDisabled()).toBe(true);
  await page.keyboard.type(customer);
  await page.keyboard.press('Enter');
  await page.getByText('Everything stored about this number is erased.').waitFor();

  const audit = await (await fetch(`${palaver.url}/api/ussd-gateway/api/ussd/audit?limit=200`)).text();
  for (const action of ['caller.viewed', 'caller.revealed', 'account.unlocked', 'pin.reset', 'address.changed'])
    expect(audit).toContain(action);
  expect(audit).toContain('data.erased');
  // The browser notes the refused address itself.
  expect(complaints.filter((complaint) => !complaint.includes('400 (Bad Request)'))).toEqual([]);
});

test('a draft is tried on two phones, timed out, sent again, recorded as a test that passes, exported and imported', async () => {
  await using opened = await openPage(palaver, '/programs?program=market&state=home');
  const { page, complaints } = opened;
  await page.getByRole('button', { name: 'Try it' }).click();
  const phone = page.getByRole('region', { name: 'Try the draft' });
  const press = async (answer: string, screen: string) => {
    await phone.getByLabel('Answer').fill(answer);
    await phone.getByRole('button', { name: 'Send' }).click();
    await phone.locator('output').getByText(screen).waitFor();
  };
  await press('1', 'Crop?');
  await press('maize', 'Bags?');
  await phone.getByText('Request and reply').click();
  await phone.getByText('serviceCode=*384*9%23&text=1*maize').waitFor();
  await phone.getByText(/CON Bags\?/).waitFor();
  await page.getByLabel('Telecom gateway').selectOption({ label: 'Arkesel' });
  await phone.getByText('"userData":"maize"').waitFor();
  await phone.getByText('"continueSession":true').waitFor();
  await phone.getByRole('button', { name: 'Retry' }).click();
  await phone.getByText('the reply is the same').waitFor();
  await page.getByRole('button', { name: 'Second phone' }).click();
  const second = page.getByRole('region', { name: 'Second phone' });
  await second.locator('output').getByText('Market').waitFor();
  await second.getByText('+254700000002', { exact: true }).waitFor();
  await phone.locator('output').getByText('Bags?').waitFor();
  await keepPicture(page, 'programs-try');
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Close this phone' }).click();
  await phone.getByRole('button', { name: 'Time out' }).click();
  await phone.getByText('the caller dials again').waitFor();
  await phone.locator('output').getByText('Market').waitFor();
  expect(await phone.getByRole('button', { name: 'Save as a test' }).isDisabled()).toBe(true);

  await phone.getByRole('button', { name: 'Start again' }).click();
  await press('1', 'Crop?');
  await press('beans', 'Bags?');
  await press('200', 'Bags?');
  await press('9', 'Note?');
  await press('none', 'Thank you');
  await phone.getByLabel(/^store/).waitFor();
  await phone.getByLabel('Name of the test').fill('A caller orders beans');
  await phone.getByRole('button', { name: 'Save as a test' }).click();
  await phone.getByText('flows/a-caller-orders-beans.yaml is part of the draft.').waitFor();
  await page.getByText('Draft saved').waitFor();

  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ]);
  const files = unzipSync(new Uint8Array(readFileSync(await saved.path())));
  await using dir = await createTempDir();
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, path)), { recursive: true });
    writeFileSync(join(dir.path, path), bytes);
  }
  const { ok, flows } = await testPrograms({ folder: join(dir.path, 'market') });
  expect(flows).toMatchObject([{ name: 'A caller orders beans', ok: true }]);
  expect(ok).toBe(true);

  const texts = strFromU8(files['market/locales/en.yaml'] ?? new Uint8Array());
  const toZip = (english: string) => ({
    name: 'market.zip',
    mimeType: 'application/zip',
    buffer: Buffer.from(zipSync({ ...files, 'market/locales/en.yaml': strToU8(english) })),
  });
  const zip = toZip(texts.replace('Market', 'Imported market'));
  await page.goto(`${palaver.url}/programs?program=market&state=home&view=outline`);
  const title = page.getByRole('region', { name: 'home', exact: true }).getByLabel('Text, en').first();
  await title.waitFor();
  await page.getByLabel('Import a folder as ZIP').setInputFiles(zip);
  await expect.poll(() => title.inputValue()).toBe('Imported market');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => title.inputValue()).toBe('Market');
  await page.getByLabel('Import a folder as ZIP').setInputFiles(toZip(texts.replace('Market', '"Market')));
  // A change that comes before the file would be lost with it.
  const fault = page.locator(`[title^="locales/en.yaml:"]`).first();
  await fault.waitFor({ state: 'attached' });
  await title.fill('Changed');
  await page.getByText(/^Line \d+ of locales\/en.yaml is not YAML\./).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => title.inputValue()).toBe('Market');
  await fault.waitFor({ state: 'detached' });
  const broken = { ...zip, buffer: Buffer.from('not a zip') };
  await page.getByLabel('Import a folder as ZIP').setInputFiles(broken);
  await page.getByText('This is not a ZIP file of a program.').waitFor();
  expect(complaints).toEqual([]);
});

test('states are connected by drawing a line; actions, branches and values are edited by field', async () => {
  await using opened = await openPage(palaver, '/programs?program=market');
  const { page, complaints } = opened;
  const add = async (name: string, kind: string, does?: string) => {
    await page.getByLabel(/^New step/).fill(name);
    await page.getByLabel('Kind').selectOption({ label: kind });
    if (does) await page.getByLabel('What it does').selectOption({ label: does });
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await page.locator(`[data-state=${name}]`).waitFor();
    return page.getByRole('region', { name, exact: true });
  };
  const total = await add('total', 'Values');
  await total.getByLabel('New entry of values').fill('cost');
  await total.getByRole('button', { name: 'Add' }).click();
  await total.getByRole('textbox', { name: 'values › cost' }).fill('bags * 40');
  await total.getByRole('textbox', { name: 'values › cost' }).press('Enter');
  await total.getByLabel('Leads to').selectOption('keep');
  const large = await add('large', 'Branch');
  await large.getByRole('textbox', { name: 'Condition 1' }).fill('bags > 50');
  await large.getByRole('textbox', { name: 'Condition 1' }).press('Enter');
  await large.getByRole('button', { name: 'Add a condition' }).click();
  await large.getByRole('textbox', { name: 'Condition 2' }).waitFor();

  // From the right side of one state to anywhere on the other.
  await page.getByRole('button', { name: 'Show the whole map' }).click();
  await page.locator('.react-flow__node[data-id=large] .react-flow__handle.source').hover();
  await page.mouse.down();
  const target = await page.locator('[data-state=total]').boundingBox();
  if (!target) throw new Error('the state total is not on the map');
  const [x, y] = [target.x + target.width / 2, target.y + target.height / 2];
  await page.mouse.move(x - 5, y, { steps: 10 });
  // A page that is slow has not begun the line yet.
  await page.locator('.react-flow__connection').waitFor({ state: 'attached' });
  await page.mouse.move(x, y, { steps: 5 });
  await page.mouse.up();
  await large.getByRole('textbox', { name: 'Condition 3' }).waitFor();
  expect(await large.getByLabel('true leads to').last().inputValue()).toBe('total');
  await page.getByText('Draft saved').waitFor();
  await keepPicture(page, 'programs-logic');
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await large.getByRole('textbox', { name: 'Condition 3' }).waitFor({ state: 'detached' });

  // The same without a pointer.
  await large.getByLabel('Connect to').focus();
  await page.keyboard.type('total');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await large.getByRole('textbox', { name: 'Condition 3' }).waitFor();
  expect(await large.getByLabel('true leads to').last().inputValue()).toBe('total');

  // A condition and an outcome are taken away again.
  await large.getByRole('button', { name: 'Remove Condition 3' }).click();
  await large.getByRole('textbox', { name: 'Condition 3' }).waitFor({ state: 'detached' });

  const enter = async (field: Locator, text: string) => {
    await field.fill(text);
    await field.press('Enter');
  };
  const asks = await add('asks', 'Action', 'Call a server');
  await asks.getByLabel('Method').selectOption('post');
  await enter(asks.getByRole('textbox', { name: 'http › post' }), 'https://prices.example.org/');
  await enter(asks.getByLabel('New entry of headers'), 'X-Source');
  await enter(asks.getByRole('textbox', { name: 'http › headers › X-Source' }), 'phone');
  // What an action need not have is gone when it is emptied, and still offered.
  await enter(asks.getByRole('textbox', { name: 'http › timeout' }), '2s');
  await enter(asks.getByRole('textbox', { name: 'http › timeout' }), '');
  await enter(asks.getByLabel('New entry of body'), 'crop');
  await enter(asks.getByLabel('New entry of take'), 'price');
  await enter(asks.getByRole('textbox', { name: 'take › price' }), '$.price');
  await asks.getByRole('button', { name: 'Add a condition' }).click();
  await enter(asks.getByRole('textbox', { name: 'Outcome of condition 1' }), 'taken');
  await enter(asks.getByLabel('New outcome'), 'taken');
  await asks.getByLabel('taken leads to').waitFor();
  await asks.getByRole('button', { name: 'Remove missing' }).click();
  await asks.getByLabel('missing leads to').waitFor({ state: 'detached' });
  await keepPicture(page, 'programs-action');
  expect(await findBarriers(page)).toEqual([]);
  const kept = await add('kept', 'Action', 'Store a record');
  expect(await kept.getByRole('combobox', { name: 'store', exact: true }).inputValue()).toBe('order');
  await enter(kept.getByLabel('New entry of fields'), 'cost');
  await kept.getByRole('textbox', { name: 'fields › cost' }).waitFor();

  const picker = page.getByLabel('Add a form (.xml, .xlsx) or data (.csv, .json)');
  const pick = (name: string, text: string) =>
    picker.setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) });
  await pick('Plot survey.XML', form);
  await page.getByText('forms/Plot-survey.xml is part of the draft.').waitFor();
  await pick('villages.csv', 'name\nKisumu\n');
  await page.getByText('data/villages.csv is part of the draft.').waitFor();
  await pick('notes.txt', 'x');
  await page.getByRole('alert').getByText('notes.txt is neither a form').waitFor();
  await pick('large.csv', 'x'.repeat(2_000_001));
  await page.getByRole('alert').getByText('large.csv is too large').waitFor();
  await pick('plot.xlsx', 'not a workbook');
  await page.getByRole('alert').getByText('plot.xlsx: it is not an Excel workbook (.xlsx)').waitFor();
  const plot = await add('plot', 'Form');
  await plot.getByRole('combobox', { name: 'form', exact: true }).selectOption('forms/Plot-survey.xml');
  await page.getByText('Draft saved').waitFor();
  const saved = (await (await fetch(`${palaver.url}/api/ussd-gateway/api/ussd/programs/market/draft`)).json()) as {
    files: Record<string, string>;
  };
  expect(saved.files['forms/Plot-survey.xml']).toBe(form);
  expect(readProgram(saved.files).records.order).toMatchObject({ crop: 'text', cost: 'text' });
  expect(readProgram(saved.files).states.get('asks')?.raw).toMatchObject({
    http: { post: 'https://prices.example.org/', headers: { 'X-Source': 'phone' }, body: { crop: 'crop' } },
    take: { price: '$.price' },
    when: [{ that: 'status == 409', outcome: 'taken' }],
  });
  expect(saved.files['program.yaml']).not.toContain('timeout');

  const undo = page.getByRole('button', { name: 'Undo' });
  while (await undo.isEnabled()) await undo.click();
  await page.locator('[data-state=total]').waitFor({ state: 'detached' });
  await page.getByText('Draft saved').waitFor();
  // The browser notes the refused workbook itself.
  expect(complaints.filter((complaint) => !complaint.includes('400 (Bad Request)'))).toEqual([]);
});

test('an action of every kind is accepted by the service as it is added', async () => {
  const files = createProgram({ name: 'kinds', title: 'Kinds', code: '*384*8#', template: 'blank' });
  for (const keyword of actionKeywords) {
    const added = addState(files, readProgram(files), { name: 'act', kind: 'action', keyword, file: 'program.yaml' });
    const connected = connectStates(added, readProgram(added), 'home', 'act');
    const report = JSON.parse(await post('/programs/kinds/check', { files: connected })) as object;
    expect([keyword, report]).toMatchObject([keyword, { ok: true, faults: [] }]);
  }
});

test.each(templates)('the template %s is accepted by the service', async (template) => {
  const files = createProgram({ name: 'begun', title: 'Begun', code: '*384*81#', template });
  const report = JSON.parse(await post('/programs/begun/check', { files })) as object;
  expect(report).toMatchObject({ ok: true, faults: [] });
});

test('a question of every type, and a list of the rows of a table, are accepted by the service in a new survey', async () => {
  const files = createProgram({ name: 'asked', title: 'Asked', code: '*384*82#', template: 'survey' });
  const check = async (changed: typeof files) =>
    JSON.parse(await post('/programs/asked/check', { files: changed })) as object;
  const question = (changed: typeof files) => {
    const state = readProgram(changed).states.get('needs');
    if (!state) throw new Error('the survey asks for no needs');
    return state;
  };
  for (const type of answerTypes)
    expect([type, await check(setAnswerType(files, question(files), type))]).toMatchObject([
      type,
      { ok: true, faults: [] },
    ]);
  const tables = { ...files, 'data/villages.csv': 'id,village\n1,Kibera\n2,Moshi\n' };
  for (const column of ['id', 'village']) {
    const from = { csv: 'data/villages.csv', text: 'village', save: { needs: column, [`${column}Too`]: column } };
    const listed = setListSource(tables, question(tables), from);
    expect([column, await check(listed)]).toMatchObject([column, { ok: true, faults: [] }]);
  }
});

/** A tree of 300 menus in five files, with ways across. */
function toLargeProgram(): Record<string, string> {
  const size = 300;
  const files: Record<string, string> = { 'locales/en.yaml': 't: { more: More }\n' };
  for (let i = 0; i < size; i++) {
    const path = i < 60 ? 'program.yaml' : `part${Math.floor(i / 60)}.yaml`;
    files[path] ??=
      i === 0
        ? 'name: large\ncodes: ["*384*300#"]\nextends: palaver\nlanguages: [en]\nstart: s0\nstates:\n'
        : 'states:\n';
    const options = [2 * i + 1, 2 * i + 2, (i * 7 + 3) % size].map((to) => `{ text: t.more, to: s${to % size} }`);
    files[path] += `  s${i}: { kind: menu, text: t.s${i}, options: [${options.join(', ')}] }\n`;
    files['locales/en.yaml'] += `t.s${i}: Screen ${i}\n`;
  }
  return files;
}

/** What the page's own thread works for each frame while something is done, and how many frames came late. */
async function measureFrames(page: Page, act: () => Promise<void>): Promise<string> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('Performance.enable', { timeDomain: 'threadTicks' });
  const worked = async () => {
    const { metrics } = await debug.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
  };
  await page.evaluate(`{
    const times = globalThis.frameTimes = [];
    let last = performance.now();
    const note = (now) => {
      if (times !== frameTimes) return;
      times.push(now - last);
      last = now;
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  }`);
  const before = await worked();
  await act();
  const ms = (await worked()) - before;
  const frames = await page.evaluate<number[]>('frameTimes');
  const late = frames.filter((time) => time > 34).length;
  return `${(ms / frames.length).toFixed(1)} ms of work a frame, ${late} of ${frames.length} frames late`;
}

test('a program of 300 states is panned, zoomed and edited on the map', async () => {
  await saveDraft('large', toLargeProgram());
  await using opened = await openPage(palaver, '/programs?program=large&view=map');
  const { page, complaints } = opened;
  await page.locator('.program-map[data-ready=true] [data-state=s299]').waitFor();
  expect(await page.locator('[data-state]').count()).toBeGreaterThan(200);
  const { x, y } = (await page.locator('.program-map').boundingBox()) ?? { x: 0, y: 0 };
  const viewport = page.locator('.react-flow__viewport');
  const whole = await viewport.getAttribute('style');
  const pan = async () => {
    await page.mouse.move(x + 300, y + 20);
    await page.mouse.down();
    for (let i = 1; i <= 20; i++) await page.mouse.move(x + 300 + 10 * i, y + 20 + 6 * i);
    await page.mouse.up();
  };
  console.log(`300 states, pan of the whole map: ${await measureFrames(page, pan)}`);
  expect(await viewport.getAttribute('style')).not.toBe(whole);
  // Until it rests, and is drawn again at its new size.
  const zoom = async () => {
    for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -220);
    await page.locator('.program-map:not(.map-moving).map-picture').waitFor();
    expect(await viewport.getAttribute('style')).toMatch(/scale\((0\.[2-9]|1)/);
  };
  console.log(`300 states, zoom: ${await measureFrames(page, zoom)}`);
  console.log(`300 states, pan near: ${await measureFrames(page, pan)}`);
  await page.getByLabel('Find a state or text').fill('s250');
  const text = page.getByRole('region', { name: 's250', exact: true }).getByLabel('Text, en').first();
  await text.waitFor();
  const edit = async () => {
    await text.fill('');
    await text.pressSequentially('Other words');
    await page.locator('[data-state=s250]').getByText('Other words').waitFor();
  };
  console.log(`300 states, edit: ${await measureFrames(page, edit)}`);
  expect(complaints).toEqual([]);
});

/** Texts of the console that are English on a page in another language; names in the program do not count. */
async function findEnglish(page: Page, messages: Record<string, unknown>): Promise<string[]> {
  const shown: string[] = await page.evaluate(`[...document.querySelectorAll('main *')].flatMap((element) => [
    ...['aria-label', 'title', 'placeholder'].map((name) => element.getAttribute(name) ?? ''),
    ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ textContent }) => textContent ?? ''),
  ])`);
  const own = new Set<unknown>(Object.values(messages));
  const english = new Set<unknown>(Object.values(en).filter((text) => !own.has(text)));
  return shown.filter((text) => english.has(text) && !program['program.yaml'].includes(text));
}

test.each(Object.entries({ fr, sw, ar }))('every part of the page is in %s', async (locale, messages) => {
  const isArabic = locale === 'ar';
  await using opened = await openPage(
    palaver,
    '/programs',
    isArabic ? { locale, size: 'phone', isTouch: true } : { locale },
  );
  const { page, complaints } = opened;
  const check = async (part: string) => {
    expect([part, await findEnglish(page, messages)]).toEqual([part, []]);
    expect([part, await overflow(page)]).toEqual([part, 0]);
    if (isArabic) {
      expect([part, await findBarriers(page)]).toEqual([part, []]);
      expect([part, await findSmallTargets(page)]).toEqual([part, []]);
    }
    await keepPicture(page, `programs-${part}-${locale}`);
  };
  const open = async (part: string, query: string, ready: string) => {
    await page.goto(`${palaver.url}/programs?${query}`);
    await page.locator(ready).first().waitFor();
    await check(part);
  };
  await page.getByRole('heading', { name: messages['app.programs'], level: 1 }).waitFor();
  await page.getByRole('link', { name: 'market' }).waitFor();
  await check('list');
  // A service code reads from left to right in every language.
  const codes = await page.evaluate<string[]>(`[...document.querySelectorAll('bdi:dir(ltr), input:dir(ltr)')].map(
    (element) => element.placeholder ?? element.textContent)`);
  expect(codes).toEqual(expect.arrayContaining(['*384*9#', '*384*5#']));
  await open('outline', 'program=market&view=outline&state=bags', '[role=treeitem]');
  await open('figures', 'program=market&view=figures', '.funnel');
  await open('publish', 'program=market&view=publish', '.history li');
  await open('yaml', 'program=market&view=yaml', '.yaml-host');
  await open('results', 'program=market&view=results', '.results-table');
  await page.getByRole('button', { name: messages['results.charts'] }).click();
  await page.getByRole('figure', { name: 'crop' }).waitFor();
  await check('charts');
  await open('map', 'program=market&view=map&state=keep', '.program-map[data-ready=true] [data-state]');
  await page.getByRole('button', { name: messages['programs.zoomIn'] }).waitFor();
  await page.getByRole('button', { name: messages['programs.tryIt'] }).click();
  await page.locator('.try-phone output').waitFor();
  await check('try');
  await open('callers', 'callers=one', '.recent-callers button');
  await page.locator('.recent-callers button').first().click();
  await page.locator('.caller-head').waitFor();
  await check('caller');
  expect(complaints).toEqual([]);
});

test.each(['light', 'dark'] as const)('no barrier in the %s theme at three widths', async (theme) => {
  await using opened = await openPage(palaver, '/programs?program=market&view=results', { theme });
  const { page } = opened;
  const pages = {
    table: async () => page.locator('.results-table').waitFor(),
    charts: async () => {
      await page.getByRole('button', { name: 'Charts' }).click();
      await page.getByRole('figure', { name: 'crop' }).waitFor();
    },
    callers: async () => {
      await page.goto(`${palaver.url}/programs?callers=one`);
      await page
        .getByRole('button', { name: /^\+25471100\*{4} / })
        .first()
        .waitFor();
    },
    caller: async () => {
      await page
        .getByRole('button', { name: /^\+25471100\*{4} / })
        .first()
        .click();
      await page.getByRole('button', { name: 'Show the number' }).click();
      await page.getByRole('button', { name: 'Erase…' }).click();
    },
  };
  for (const [name, open] of Object.entries(pages)) {
    await open();
    for (const [width, height] of [
      [1280, 800],
      [820, 1180],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      expect(await findBarriers(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await keepPicture(page, `results-${name}-${theme}-${width}`);
    }
  }
});
