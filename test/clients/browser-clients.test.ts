// Pages with unmodified clients, built here and opened in a real browser.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { launchBrowser } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import { build, type Rolldown } from 'vite';
import { expect, test } from 'vitest';
import { createGate } from '../../packages/agent/test/gate-plugin.ts';
import { startTestAgent } from '../../packages/agent/test/test-agent.ts';

async function servePage(name: string): Promise<AsyncDisposable & { url: string }> {
  const root = join(installTools('clients'), 'pages');
  const built = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, rolldownOptions: { input: join(root, name) } },
  })) as Rolldown.RolldownOutput;
  const script = built.output[0].code;
  const server = createServer((request, response) => {
    if (request.url === '/main.js') response.setHeader('content-type', 'text/javascript').end(script);
    else {
      const page =
        '<!doctype html><title>The farm</title><div id="root"></div><script type="module" src="/main.js"></script>';
      response.setHeader('content-type', 'text/html').end(page);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('useChat of the AI SDK: text, a tool of the page, and a reload in mid-stream', async () => {
  const gate = createGate();
  await using agent = await startTestAgent({ plugins: [gate.plugin] });
  await using site = await servePage('use-chat.js');
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
