// A page with an unmodified client, built here and opened in a real browser. `npm run check:clients` opens more.
import { launchBrowser } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import { expect, test } from 'vitest';
import { createGate } from '../../packages/agent/test/gate-plugin.ts';
import { startTestAgent } from '../../packages/agent/test/test-agent.ts';
import { servePage } from './serve-page.ts';

test('useChat of the AI SDK: text, a tool of the page, and a reload in mid-stream', async () => {
  const gate = createGate();
  await using agent = await startTestAgent({ plugins: [gate.plugin] });
  await using site = await servePage(installTools('clients'), 'use-chat.js');
  const ana = await agent.createUser();
  const chat = await ana.createSession();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto(`${site.url}#${new URLSearchParams({ url: agent.url, token: ana.invocation, chat })}`);
    const say = async (text: string) => {
      await expect.poll(() => page.textContent('output')).toBe('ready');
      await page.fill('input', text);
      await page.press('input', 'Enter');
    };
    const last = () => page.locator('.assistant').last().textContent();
    await say('/long 3');
    await expect.poll(last).toBe('word1 word2 word3');
    await say('/tool read_title {}');
    await expect.poll(last).toBe('read_title: {"title":"The farm"}');
    await say('/tool gate {}');
    await gate.reached();
    await page.reload();
    await page.waitForSelector('.assistant', { state: 'attached' });
    gate.open();
    await expect.poll(last).toBe('gate: opened');
    expect(faults).toEqual([]);
    expect(await ana.messages(chat)).toHaveLength(8);
  } finally {
    await browser.close();
  }
}, 90_000);
