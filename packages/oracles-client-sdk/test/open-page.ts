import type { launchBrowser } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { onTestFinished } from 'vitest';

type Browser = Awaited<ReturnType<typeof launchBrowser>>;
export type Page = Awaited<ReturnType<Browser['newPage']>>;

export interface PageLog {
  /** How long the last message was, each time it was drawn. */
  lengths: number[];
  /** The states of actions, in the order in which they were drawn. */
  drawn: string[];
  signed: number;
  payments: string[][];
  transactions: unknown[];
  calls: unknown[];
  events: string[];
  finished: number;
}

/** A new user's secret key. */
export const createKey = async () => (await createSigner()).toSecret();

/** Opens the test page; its address says which agent, user and session. Faults of the page fail the test. */
export async function openPage(browser: Browser, siteUrl: string, params: Record<string, string>): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 900, height: 900 } });
  page.setDefaultTimeout(150_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  onTestFinished(async () => {
    await page.close();
    if (faults.length > 0 && !params.outside) throw new Error(`the page threw: ${faults.join('; ')}`);
  });
  await page.goto(`${siteUrl}?${new URLSearchParams(params)}`);
  return page;
}

export async function newSession(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New session' }).click();
  await page.locator('#chat[data-connected="true"]').waitFor();
}

export async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

export async function waitForStatus(page: Page, wanted: string): Promise<void> {
  await page.locator(`#chat[data-status="${wanted}"]`).waitFor();
}

/** The texts of the messages. */
export const messages = async (page: Page): Promise<string[]> =>
  (await page.locator('#messages > li').allTextContents()).map((text) => text.trim());

export const logOf = (page: Page): Promise<PageLog> =>
  page.evaluate(() => (globalThis as unknown as { log: PageLog }).log);

export const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');
