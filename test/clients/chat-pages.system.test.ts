// Unmodified chat pages of the AI SDK, assistant-ui, CopilotKit and the older client library, built here and opened in a
// real browser.
import { mkdirSync } from 'node:fs';
import { launchBrowser } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import { beforeAll, expect, test } from 'vitest';
import { createGate } from '../../packages/agent/test/gate-plugin.ts';
import { delegate, startTestAgent } from '../../packages/agent/test/test-agent.ts';
import { servePage } from './serve-page.ts';

/** Pictures of the pages, to be looked at. */
const pictures = 'data/clients';
mkdirSync(pictures, { recursive: true });

// Natively, a tool of the page is part of its run. In the other protocols a second run brings the result.
const pages = [
  { name: 'use-chat', tools: 'clients', field: 'input', isResumable: true, stored: 6 },
  { name: 'assistant-ui', tools: 'browser-clients', field: 'textarea', isResumable: true, stored: 6 },
  // A run of AG-UI stops with its connection, so there is nothing to read after a reload.
  { name: 'copilotkit', tools: 'browser-clients', field: 'textarea', isResumable: false, stored: 6 },
  { name: 'older-library', tools: 'browser-clients', field: 'input', isResumable: true, stored: 4 },
] as const;

beforeAll(() => void installTools('browser-clients'), 900_000);

test.each(pages)(
  '$name: text, a tool of the page, and a reload in mid-stream where the protocol resumes',
  async ({ name, tools, field, isResumable, stored }) => {
    const gate = createGate();
    await using agent = await startTestAgent({ plugins: [gate.plugin] });
    await using site = await servePage(installTools(tools), `${name}.js`);
    const ana = await agent.createUser();
    const chat = await ana.createSession();
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on('pageerror', ({ message }) => faults.push(message));
      const delegation = await delegate(ana.signer, agent.did);
      const settings = { url: agent.url, did: agent.did, user: ana.did, token: ana.invocation, delegation, chat };
      await page.goto(`${site.url}#${new URLSearchParams(settings)}`);
      const say = async (text: string) => {
        await page.waitForSelector(field);
        await page.fill(field, text);
        await page.press(field, 'Enter');
      };
      const shows = (text: string) => expect.poll(() => page.textContent('body')).toContain(text);
      const hasAnswers = (count: number) => expect.poll(async () => (await ana.messages(chat)).length).toBe(count);
      await say('/long 3');
      await shows('word1 word2 word3');
      await hasAnswers(2);
      await say('/tool read_title {}');
      await shows('read_title: {"title":"The farm"}');
      await hasAnswers(stored);
      await page.screenshot({ path: `${pictures}/${name}.png` });
      if (isResumable) {
        await say('/tool gate {}');
        await gate.reached();
        await page.reload();
        await page.waitForSelector('.assistant', { state: 'attached' });
        gate.open();
        await shows('gate: opened');
        await page.screenshot({ path: `${pictures}/${name}-reloaded.png` });
      }
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);
