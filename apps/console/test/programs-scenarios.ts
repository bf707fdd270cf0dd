import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { findBarriers, keepPicture, looks, openPage, overflow, sizes, type TestConsole } from './start-console.ts';

/** Calls as a telecom gateway would, each text of a call in turn. */
async function call({ url }: TestConsole, sessionId: string, texts: string[], serviceCode = '*1234#'): Promise<string> {
  let screen = '';
  for (const text of texts) {
    const reply = await fetch(`${url}/api/ussd-gateway/api/ussd`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId, serviceCode, phoneNumber: '+254700000031', text }),
    });
    screen = await reply.text();
    expect(screen).toMatch(/^(CON|END) /);
  }
  return screen;
}

const mapReady = (page: Page) => page.locator('.program-map[data-ready=true] [data-state]').first().waitFor();
const stateOn = (page: Page, name: string) => page.locator(`[data-state="${name}"]`);

export function programsScenarios(palaver: () => TestConsole): void {
  test('a program is a map that is searched and walked by keyboard, an outline and a funnel of its callers', async () => {
    await call(palaver(), 'programs-1', ['', '1', '1*9', '1*1', '1*1*0', '1*1*0**']);
    await using opened = await openPage(palaver(), '/programs');
    const { page, complaints } = opened;
    await page.locator('.program-list').getByRole('link', { name: 'Palaver' }).click();
    await mapReady(page);
    const main = stateOn(page, 'preMenu');
    await main.waitFor();
    expect(await main.textContent()).toMatch(/^preMenu\s*Menu, start/);
    await main.click();
    const panel = page.getByRole('region', { name: 'preMenu' });
    for (const words of ['Welcome to Palaver', 'Bienvenue', 'Karibu']) await panel.getByText(words).waitFor();
    expect(await panel.getByText(/^\d+\/182/).count()).toBe(3);
    await panel.getByRole('button', { name: 'about', exact: true }).waitFor();

    await main.focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('region', { name: 'about' }).waitFor();
    await page.locator('[data-state=about]:focus').waitFor();
    expect(new URL(page.url()).searchParams.get('state')).toBe('about');

    await page.getByLabel('Find a state or text').fill('kiasi gani');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'askAmount' }).waitFor();
    await keepPicture(page, 'programs-found');
    await page.getByLabel('Find a state or text').fill('');

    await page.getByRole('button', { name: 'Outline' }).click();
    const tree = page.getByRole('tree');
    await tree.getByRole('treeitem').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'about' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await tree.locator('[role=treeitem][aria-expanded=false]:focus').waitFor();
    expect(await tree.getByText('aboutWhat').count()).toBe(0);

    await page.getByRole('button', { name: 'Figures' }).click();
    const about = page.getByRole('row', { name: /^about / });
    await about.waitFor();
    const counts = (await about.getByRole('cell').allTextContents()).slice(0, 5).map(Number);
    // Phones of other tests may have been here too.
    for (const [i, least] of [2, 1, 1, 0, 1].entries()) expect(counts[i]).toBeGreaterThanOrEqual(least);
    await keepPicture(page, 'programs-figures');
    expect(complaints).toEqual([]);
  });

  test('a program is built by clicking, tried, published, dialled, seen in the funnel and rolled back', async () => {
    await using opened = await openPage(palaver(), '/programs');
    const { page, complaints } = opened;
    await page.getByLabel('Name of a new program').fill('seeds');
    const create = page.getByRole('button', { name: 'Create' });
    await create.click();
    const code = page.getByLabel('Service code');
    expect(await code.evaluate((field) => (field as unknown as { validationMessage: string }).validationMessage)).toBe(
      'A service code such as *384*5#.',
    );
    await code.fill('*384*77#');
    await create.click();
    await mapReady(page);
    for (const [name, kind] of [
      ['amount', 'Question'],
      ['thanks', 'Page'],
      ['bye', 'End'],
    ] as const) {
      await page.getByLabel(/^New step/).fill(name);
      await page.getByLabel('Kind').selectOption({ label: kind });
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('region', { name, exact: true }).waitFor();
    }
    // The map shows what was added last.
    const map = await page.locator('.program-map').boundingBox();
    const edge = (map?.x ?? 0) + (map?.width ?? 0);
    await expect.poll(async () => (await stateOn(page, 'bye').boundingBox())?.x).toBeLessThan(edge);
    // They lead to each other, and nothing leads to the first of them yet.
    const problems = page.locator('.problems summary');
    await problems.waitFor();

    await page.getByRole('button', { name: 'Show the whole map' }).click();
    await stateOn(page, 'amount').click();
    const amount = page.getByRole('region', { name: 'amount', exact: true });
    await amount.getByLabel('Text, en').fill('How many seeds?');
    await amount.getByLabel('Type of answer').selectOption('integer');
    await amount.getByLabel('At most').fill('50');
    await amount.getByLabel('At most').press('Enter');
    expect(await amount.getByLabel('Leads to').inputValue()).toBe('thanks');
    await stateOn(page, 'thanks').click();
    const thanks = page.getByRole('region', { name: 'thanks', exact: true });
    await thanks.getByLabel('Text, en').first().fill('{amount} seeds are yours.');
    expect(await thanks.getByLabel('Leads to').inputValue()).toBe('bye');
    await stateOn(page, 'home').click();
    const home = page.getByRole('region', { name: 'home', exact: true });
    await home.getByRole('button', { name: 'Add a choice' }).click();
    const second = home.getByRole('group', { name: 'Choice 2' });
    await second.getByLabel('Text, en').fill('Order seeds');
    await second.getByLabel('Leads to').selectOption('amount');
    await problems.waitFor({ state: 'detached' });
    await home.getByRole('textbox', { name: 'Name', exact: true }).fill('market');
    await home.getByRole('textbox', { name: 'Name', exact: true }).press('Enter');
    await page.getByRole('region', { name: 'market', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await stateOn(page, 'home').waitFor();
    await page.getByText('Draft saved').waitFor();

    await page.getByRole('button', { name: 'Try it' }).click();
    const phone = page.getByRole('region', { name: 'Try the draft' });
    for (const [answer, screen] of [
      ['2', 'How many seeds?'],
      ['99', 'How many seeds?'],
      ['12', '12 seeds are yours.'],
    ] as const) {
      await phone.getByLabel('Answer').fill(answer);
      await phone.getByRole('button', { name: 'Send' }).click();
      await phone.getByText(screen).waitFor();
    }
    await page.locator('[data-state=thanks][aria-pressed=true]').waitFor();
    await keepPicture(page, 'programs');
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Try it' }).click();

    await page.getByRole('button', { name: 'YAML' }).click();
    await page.getByText('How many seeds?').or(page.getByText('kind: prompt')).first().waitFor();
    await page.getByRole('button', { name: 'Publish' }).first().click();
    const publish = page.getByRole('region', { name: 'Publish' });
    await publish.getByText('Question amount is new.').waitFor();
    await publish.getByRole('button', { name: 'Publish' }).click();
    await publish.getByText(/^seeds@[0-9a-f]{12} is in use\./).waitFor();
    expect(await publish.getByRole('link', { name: 'Dial *384*77#' }).getAttribute('href')).toBe(
      '/phone?code=*384*77%23',
    );
    const dial = (sessionId: string, text: string) => call(palaver(), sessionId, [text], '*384*77#');
    expect(await dial('seeds-1', '2*5')).toMatch(/^CON 5 seeds are yours/);

    await page.goto(`${palaver().url}/programs?program=seeds&state=home`);
    await page.getByRole('region', { name: 'home', exact: true }).getByLabel('Text, en').first().fill('Second edition');
    await page.getByText('Draft saved').waitFor();
    await page.getByRole('button', { name: 'Publish' }).first().click();
    await publish.getByText('“Welcome” becomes “Second edition”').waitFor();
    await publish.getByRole('button', { name: 'Publish' }).click();
    await publish.getByText(/is in use\./).waitFor();
    expect(await dial('seeds-2', '')).toMatch(/^CON Second edition/);
    await publish.getByRole('button', { name: /^Roll back to seeds@/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await publish.getByText(/is in use again\./).waitFor();
    expect(await dial('seeds-3', '')).toMatch(/^CON Welcome/);
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'programs-publish');

    await page.getByRole('button', { name: 'Figures' }).click();
    const row = page.getByRole('row', { name: /^amount / });
    await row.waitFor();
    expect((await row.getByRole('cell').allTextContents()).slice(0, 2)).toEqual(['1', '1']);
    expect(complaints).toEqual([]);
  });

  test('a survey of six questions is built by clicking; each answer is kept, and the map wraps', async () => {
    await using opened = await openPage(palaver(), '/programs');
    const { page, complaints } = opened;
    await page.getByLabel('Name of a new program').fill('Water points');
    await page.getByLabel('Service code').fill('*384*78#');
    await page.getByLabel('Begin with').selectOption('survey');
    await page.getByRole('button', { name: 'Create' }).click();
    await stateOn(page, 'home').click();
    const panel = page.locator('.state-panel');
    const where = page.getByRole('combobox', { name: 'Where', exact: true });
    expect(await where.locator('option:checked').textContent()).toBe('between home and people (1. Begin)');
    await page.getByLabel(/^New step after home/).fill('Which village?');
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await page.getByRole('region', { name: 'whichVillage', exact: true }).waitFor();
    expect(await panel.getByLabel('Leads to').inputValue()).toBe('people');
    await stateOn(page, 'home').click();
    await where.selectOption({ label: 'as a new choice of home' });
    await page.getByLabel(/^New step after home/).fill('Your name?');
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await page.getByText('No record keeps the answer to yourName').waitFor();
    // Nothing keeps it until it leads to what keeps the others.
    await page.getByRole('button', { name: 'Store a record after it' }).waitFor();
    await panel.getByLabel('Leads to').selectOption('people');
    await keepPicture(page, 'programs-not-kept');
    await page.getByRole('button', { name: 'Keep it in answer' }).click();
    await page.getByText('No record keeps the answer').waitFor({ state: 'detached' });
    await stateOn(page, 'needs').click();
    const questions = { 'Is the pump working?': 'choice', 'For how many days?': 'integer', 'Since when?': 'date' };
    for (const [text, type] of Object.entries(questions)) {
      await page.getByLabel(/^New step after/).fill(text);
      await page.getByRole('button', { name: 'Add', exact: true }).first().click();
      await expect.poll(() => panel.getByLabel('Text, en').first().inputValue()).toBe(text);
      await panel.getByLabel('Type of answer').selectOption(type);
    }
    await page.getByText('Draft saved').waitFor();
    expect(await page.locator('.problems.notice-warn').count()).toBe(0);
    await page.getByRole('button', { name: 'Show the whole map' }).click();
    const place = async (name: string) => (await stateOn(page, name).boundingBox())?.y ?? 0;
    await expect.poll(async () => (await place('thanks')) - (await place('home'))).toBeGreaterThan(50);
    await keepPicture(page, 'programs-survey');
    await stateOn(page, 'keep').click();
    for (const name of ['whichVillage', 'yourName', 'isThePumpWorking', 'forHowManyDays', 'sinceWhen'])
      expect(await panel.getByLabel(`fields › ${name}`, { exact: true }).inputValue()).toBe(name);
    expect(await findBarriers(page)).toEqual([]);
    // On a phone the panel is below the list.
    await page.setViewportSize(sizes.phone);
    await page.getByRole('button', { name: 'Outline' }).click();
    await page
      .getByRole('treeitem', { name: /sinceWhen/ })
      .first()
      .click();
    const title = page.getByRole('heading', { name: 'sinceWhen', exact: true });
    await expect.poll(async () => (await title.boundingBox())?.y).toBeLessThan(sizes.phone.height / 2);
    expect(complaints).toEqual([]);
  });

  test.each(looks)('no barrier in the $theme theme at the width of a $size', async (look) => {
    await using opened = await openPage(palaver(), '/programs', look);
    const { page } = opened;
    await page.locator('.program-list').getByRole('link', { name: 'Palaver' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    for (const view of ['map', 'outline', 'figures']) {
      await page.goto(`${palaver().url}/programs?program=palaver&state=about&view=${view}`);
      await page.getByRole('region', { name: 'about', exact: true }).waitFor();
      if (view === 'map') await mapReady(page);
      if (view === 'figures') await page.getByRole('row', { name: /^about / }).waitFor();
      expect(await findBarriers(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await keepPicture(page, `programs-${view}-${look.theme}-${look.size}`);
    }
  });
}
