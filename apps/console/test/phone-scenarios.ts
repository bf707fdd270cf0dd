import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { parseFlow } from '@palaver/ussd/commands/flow';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { findBarriers, keepPicture, looks, openPage, overflow, type TestConsole } from './start-console.ts';

async function answer(phone: Locator, text: string, screen: string): Promise<void> {
  await phone.getByLabel('Answer').fill(text);
  await phone.getByRole('button', { name: 'Send' }).click();
  await phone.getByText(screen).first().waitFor();
}

const handset = (page: Page, name: string) => page.getByRole('form', { name, exact: true });

export function phoneScenarios(palaver: () => TestConsole): void {
  test('a person dials, registers, goes back and leaves; the state is shown, the dialogue can be saved and replayed', async () => {
    await using opened = await openPage(palaver(), '/phone');
    const { page, complaints } = opened;
    const phone = handset(page, 'Phone A');
    await phone.getByRole('button', { name: 'Call' }).click();
    await phone.getByText('Welcome to Palaver').waitFor();
    await page.getByText('preMenu').waitFor();
    expect(await phone.getByText('/182').textContent()).toMatch(/^(9|1[0-7])\d\/182$/);

    await phone.getByRole('button', { name: '2', exact: true }).click();
    await phone.getByRole('button', { name: 'Send' }).click();
    await phone.getByText('1. Register').waitFor();
    await phone.getByRole('button', { name: 'Back' }).click();
    await phone.getByText('Welcome to Palaver').waitFor();
    await answer(phone, '2', '1. Register');
    await answer(phone, '1', 'What is your name?');
    await answer(phone, 'Ana Wanjiru', 'Choose a PIN');
    await answer(phone, '4071', 'Enter the new PIN again');
    await answer(phone, '4071', 'Your account is ready');
    await page.getByText('Signed in').waitFor();
    await expect.poll(() => page.getByText('yes', { exact: true }).count()).toBe(1);
    await keepPicture(page, 'phone');
    await phone.getByRole('button', { name: 'Exit' }).click();
    await phone.getByText('Goodbye').waitFor();
    await phone.getByText('Session ended').waitFor();
    await page.getByText('The session has ended').waitFor();

    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save flow' }).click(),
    ]);
    const flow = parseFlow(readFileSync(await saved.path(), 'utf8'));
    expect(flow.phoneNumber).toBeUndefined();
    expect(flow.steps.filter((step) => 'send' in step && step.send === '{{pin}}')).toHaveLength(2);
    expect(flow.steps).toHaveLength(9);
    expect(flow.steps[0]).toMatchObject({ dial: '*1234#' });
    // The browser logs every reply that is not 2xx; the lookup of the ended session is one.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });

  test('a flow file is replayed screen by screen, and a difference is shown', async () => {
    await using dir = await createTempDir();
    await using opened = await openPage(palaver(), '/phone');
    const { page } = opened;
    const about = join(import.meta.dirname, '../../../services/ussd/flows/about.yaml');
    await page.getByLabel('Replay a flow file').setInputFiles(about);
    await page.getByText('every screen was as recorded').waitFor();

    const other = join(dir.path, 'other.yaml');
    await writeFile(other, readFileSync(about, 'utf8').replace('2. How it works', '2. Something else'));
    await page.getByLabel('Replay a flow file').setInputFiles(other);
    await page.getByText('differs at step 2').waitFor();
    await page.getByText('Something else').waitFor();
  });

  test('two phones are side by side, each with its own session', async () => {
    await using opened = await openPage(palaver(), '/phone');
    const { page, complaints } = opened;
    await page.getByRole('button', { name: 'Second phone' }).click();
    const [first, second] = [handset(page, 'Phone A'), handset(page, 'Phone B')];
    await first.getByRole('button', { name: 'Call' }).click();
    await first.getByText('Welcome to Palaver').waitFor();
    await second.getByRole('button', { name: 'Call' }).click();
    await second.getByText('Welcome to Palaver').waitFor();
    await answer(first, '1', 'About Palaver');
    expect(await second.getByText('Welcome to Palaver').count()).toBe(1);
    const ids = await page.getByText(/^phone-[0-9a-f]{24}$/).allTextContents();
    expect(new Set(ids).size).toBe(2);
    await keepPicture(page, 'phones-two');
    expect(complaints).toEqual([]);
  });

  test('one program is dialled and written to, side by side', async () => {
    const send = (method: string, path: string, body: object) =>
      fetch(`${palaver().url}/api/ussd-gateway/api/ussd/programs/market/${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const files = {
      'program.yaml': `
name: market
codes: ["*384*9#"]
keywords: [maize]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ text: home.ask, to: kilos }] }
  kilos: { kind: prompt, text: home.kilos, type: integer, min: 1, save: kilos, to: thanks }
  thanks: { kind: page, text: home.thanks }
`,
      'locales/en.yaml': `
home: { title: Maize market, ask: Sell, kilos: How many kilos?, thanks: 'You sell {kilos} kilos.' }
`,
    };
    expect((await send('PUT', 'draft', { files, revision: 0 })).status).toBe(200);
    expect((await send('POST', 'publish', { revision: 1 })).status).toBe(200);
    await using opened = await openPage(palaver(), '/phone');
    const { page, complaints } = opened;
    const phone = handset(page, 'Phone A');
    await phone.getByLabel('Number to dial').fill('*384*9#');
    await phone.getByRole('button', { name: 'Call' }).click();
    await phone.getByText('Maize market').waitFor();
    await page.getByRole('button', { name: 'Text messages' }).click();
    const thread = page.getByRole('form', { name: 'Text messages of Phone A' });
    const write = async (text: string, screen: string) => {
      await thread.getByRole('textbox').fill(text);
      await page.keyboard.press('Enter');
      await thread.getByText(screen).waitFor();
    };
    await write('hello', '(no reply)');
    await write('Maize', 'Maize market');
    await write('1', 'How many kilos?');
    await write('40', 'You sell 40 kilos.');
    expect(await phone.getByText('Maize market').count()).toBe(1);
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'phone-texts');
    expect(complaints).toEqual([]);
  });

  test('the keyboard alone is enough', async () => {
    await using opened = await openPage(palaver(), '/phone');
    const { page } = opened;
    const phone = handset(page, 'Phone A');
    await phone.getByLabel('Number to dial').focus();
    await page.keyboard.press('Enter');
    await phone.getByText('Welcome to Palaver').waitFor();
    await page.keyboard.type('1');
    await page.keyboard.press('Enter');
    await phone.getByText('About Palaver').waitFor();
    await page.keyboard.press('Escape');
    await phone.getByText('Type a service code').waitFor();
  });

  test.each(looks)('no barrier in the $theme theme at the width of a $size', async (look) => {
    await using opened = await openPage(palaver(), '/phone', look);
    const { page } = opened;
    const phone = handset(page, 'Phone A');
    await phone.getByRole('button', { name: 'Call' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await phone.getByRole('button', { name: 'Call' }).click();
    await page.getByText('preMenu').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, `phone-${look.theme}-${look.size}`);
    expect(await overflow(page)).toBe(0);
  });
}
