import { readFileSync } from 'node:fs';
import { createDelegation, createSigner } from '@palaver/ucan';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { findBarriers, keepPicture, looks, openPage, overflow, type TestConsole } from './start-console.ts';

export async function startConversation(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create a key and start' }).click();
  await page.getByRole('button', { name: 'Start a conversation' }).click();
  await page.getByLabel('Message', { exact: true }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

const log = (page: Page) => page.getByRole('log', { name: 'Messages' });

/** Everything this origin keeps in the browser, as text. */
const readStorage = (page: Page) =>
  page.evaluate<string>(`(async () => {
    const bytes = (value) => new TextDecoder().decode(value);
    const databases = await indexedDB.databases();
    const entries = await Promise.all(databases.map(({ name }) => new Promise((resolve) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => {
        const all = opening.result.transaction('credential').objectStore('credential').getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result); };
      };
    })));
    const shown = entries.flat().map(({ key, nonce, sealed }) => [key.extractable, bytes(nonce), bytes(sealed)]);
    return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, shown]);
  })()`);

export function chatScenarios(palaver: () => TestConsole): void {
  test('a key is kept encrypted under a key that cannot be read out; one kept in the clear moves there', async () => {
    const secret = (await createSigner()).toSecret();
    await using opened = await openPage(palaver(), '/phone');
    const { page } = opened;
    await page.evaluate(`localStorage.setItem('palaver.chat-credential', ${JSON.stringify(secret)})`);
    for (const visit of ['first', 'second']) {
      await page.goto(`${palaver().url}/chat`);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export key' }).click(),
      ]);
      expect([visit, readFileSync(await saved.path(), 'utf8').trim()]).toEqual([visit, secret]);
      const kept = await readStorage(page);
      expect(kept).toContain('[[false,');
      expect(kept).not.toContain(secret.slice(0, 20));
      expect(kept).not.toContain('chat-credential');
    }
    await page.getByRole('button', { name: 'Sign out' }).click();
    const asked = page.getByRole('dialog', { name: 'Sign out and lose this key?' });
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(await findBarriers(page)).toEqual([]);
    await asked.getByRole('button', { name: 'Sign out and forget the key' }).click();
    await page.getByRole('button', { name: 'Create a key and start' }).waitFor();
    expect(await readStorage(page)).toMatch(/,\[\]\]$/);
  });

  test('a person makes a key, talks, and sees preferences and memory follow; the key can be exported', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    await startConversation(page);
    await page.getByRole('button', { name: 'Draw a chart' }).click();
    await log(page).getByText('310', { exact: true }).waitFor();
    await say(page, 'Call me Ana');
    const about = page.getByRole('complementary', { name: 'About you' });
    await about.getByText('userName').waitFor();
    await about.getByText('Ana', { exact: true }).waitFor();
    await log(page).getByText('set_user_preferences').first().waitFor();

    await say(page, 'Remember that I grow tea near Kericho');
    await about.getByText('I grow tea near Kericho').waitFor();
    await keepPicture(page, 'chat');
    await about.getByLabel('Something to remember').fill('My farm has two hectares');
    await about.getByRole('button', { name: 'Add' }).click();
    await about.getByText('My farm has two hectares').waitFor();
    await about.getByRole('button', { name: 'Forget: My farm has two hectares' }).click();
    await about.getByText('My farm has two hectares').waitFor({ state: 'detached' });

    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export key' }).click(),
    ]);
    expect(readFileSync(await saved.path(), 'utf8').trim()).toMatch(/^Mg[\w+/]+=*$/);

    await page.reload();
    await log(page).getByText('Call me Ana').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('the agent draws on the page, changes it, and its tool calls and reasoning can be unfolded', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    await startConversation(page);
    await page.getByRole('button', { name: 'Draw a chart' }).click();
    await log(page).getByText('Draw a chart of the trees planted', { exact: true }).waitFor();
    await log(page).getByText('310', { exact: true }).waitFor();

    await say(page, 'Switch this page to the dark theme');
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
    const call = log(page).getByText('set_page_theme', { exact: true });
    await call.waitFor();
    await call.click();
    await log(page).getByRole('group', { name: 'Result of set_page_theme' }).waitFor();
    await log(page).getByText('Reasoning').first().click();
    await log(page).getByText('The user asks for a chart.').waitFor();
    await keepPicture(page, 'chat-dark');
    expect(complaints).toEqual([]);
  });

  test('a run can be inspected: its prompt, steps, tool calls, tokens and latency', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    await startConversation(page);
    await say(page, 'Remember that I grow tea near Kericho');
    await log(page).getByText('I will remember that.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Runs' }).click();
    const runs = page.getByRole('dialog', { name: 'Runs of this conversation' });
    await runs.getByText('Remember that I grow tea near Kericho').first().waitFor();
    await runs.getByText('remember', { exact: true }).waitFor();
    await runs.getByText(/^\d+ in, \d+ out$/).waitFor();
    expect(await runs.getByText(/^\d+(\.\d)? ms$/).count()).toBeGreaterThan(2);
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, 'chat-runs');
    await page.keyboard.press('Escape');
    await runs.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  test('an answer streams, can be stopped, and what was said stays', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    await startConversation(page);
    await say(page, '/long 5000');
    const answer = log(page).getByRole('listitem').nth(1);
    await expect.poll(async () => ((await answer.textContent()) ?? '').length).toBeGreaterThan(100);
    await page.getByRole('button', { name: 'Stop' }).click();
    await log(page).getByText('Stopped', { exact: true }).waitFor();
    const shown = ((await answer.textContent()) ?? '').replace(/Stopped(Copy)?$/, '');
    await page.reload();
    await log(page).getByText('Stopped', { exact: true }).waitFor();
    // The page stops first; the agent may have written a few words more by then.
    const stored = (await log(page).getByRole('listitem').nth(1).textContent()) ?? '';
    expect(stored.slice(0, shown.length)).toBe(shown);
    expect(stored).toMatch(/Stopped(Copy)?$/);
    expect(complaints).toEqual([]);
  });

  test('a lost connection shows, and returns with what was missed', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page } = opened;
    await startConversation(page);
    await say(page, '/long 400');
    const answer = log(page).getByRole('listitem').nth(1);
    await expect.poll(async () => ((await answer.textContent()) ?? '').length).toBeGreaterThan(50);
    await page.context().setOffline(true);
    await page.getByText('connecting…').waitFor();
    await page.context().setOffline(false);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    expect(((await answer.textContent()) ?? '').trim().split(/\s+/).length).toBeGreaterThanOrEqual(400);
  });

  test('sessions are listed, opened and deleted', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    await startConversation(page);
    await say(page, 'Good morning');
    const sessions = page.getByRole('navigation', { name: 'Conversations' });
    await sessions.getByRole('button', { name: /^Good morning/ }).waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('Type a message, or start with one of these').waitFor();
    await sessions.getByRole('button', { name: /^Good morning/ }).click();
    await log(page).getByText('Good morning').first().waitFor();
    await sessions.getByRole('button', { name: 'Delete: Good morning' }).click();
    await sessions.getByRole('group').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => sessions.getByText('Good morning').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('a delegation signed elsewhere signs in; rubbish is refused in words', async () => {
    const { url } = palaver();
    const { id: audience } = (await (await fetch(`${url}/api/agent/.well-known/did.json`)).json()) as { id: string };
    const issuer = await createSigner();
    const capabilities = [{ can: 'oracle/*', with: audience }];
    const { serialized } = await createDelegation({ issuer, audience, capabilities });
    await using opened = await openPage(palaver(), '/chat');
    const { page, complaints } = opened;
    const field = page.getByLabel('Secret key, or a delegation to this agent');
    await field.fill('not a key');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('neither a secret key').waitFor();
    await field.fill(serialized);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(issuer.did()).waitFor();
    await page.getByRole('button', { name: 'Start a conversation' }).click();
    await say(page, 'Good evening');
    await log(page).getByText('Good evening').first().waitFor();
    await expect.poll(() => log(page).getByRole('listitem').count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  test('an attachment that cannot be fetched is refused before the model runs, and said so', async () => {
    await using opened = await openPage(palaver(), '/chat');
    const { page } = opened;
    await startConversation(page);
    expect(await page.getByRole('button', { name: 'Attach from Matrix' }).count()).toBe(0);
    await page.getByText('Matrix session').click();
    await page.getByLabel('Homeserver').fill('https://matrix.example');
    await page.getByRole('button', { name: 'Attach from Matrix' }).click();
    await page.getByLabel('Matrix content address').fill('mxc://example.org/abc');
    await page.getByLabel('File name').fill('notes.txt');
    await page.getByRole('button', { name: 'Add' }).first().click();
    await page.getByRole('list', { name: 'Files' }).getByText('notes.txt').waitFor();
    await say(page, 'Summarise this');
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
  });

  test.each(looks)('no barrier in the $theme theme at the width of a $size', async (look) => {
    await using opened = await openPage(palaver(), '/chat', look);
    const { page } = opened;
    await page.getByRole('button', { name: 'Create a key and start' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await keepPicture(page, `chat-sign-in-${look.theme}-${look.size}`);
    await startConversation(page);
    await page.getByRole('button', { name: 'Draw a chart' }).click();
    await log(page).getByText('310', { exact: true }).waitFor();
    await say(page, 'What can you do?');
    await expect.poll(() => log(page).getByRole('listitem').count()).toBeGreaterThan(3);
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    expect(await findBarriers(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await keepPicture(page, `chat-${look.theme}-${look.size}`);
  });
}
