import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOracleApp } from '@palaver/agent-plugins';
import { createTempDir, launchBrowser, waitFor } from '@palaver/test-kit';
import { build, type Rolldown } from 'vite';
import { expect, it, onTestFinished } from 'vitest';
import { viteOptions } from './vite-options.ts';

it('the plain page chats with the agent and runs its tool', async () => {
  const dir = await createTempDir();
  const agent = await createOracleApp({ env: { DATA_DIR: dir.path, PORT: '0', LOG_LEVEL: 'silent' } });
  const agentUrl = await agent.listen();
  const { output } = (await build({
    ...viteOptions,
    build: { ...viteOptions.build, write: false },
  })) as Rolldown.RolldownOutput;
  const files = new Map(output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]));
  const site = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const body = files.get(pathname === '/' ? '/index.html' : pathname);
    response.setHeader('content-type', pathname.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.writeHead(body === undefined ? 404 : 200).end(body);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const browser = await launchBrowser();
  onTestFinished(async () => {
    await browser.close();
    site.close();
    await agent.close();
    await dir[Symbol.asyncDispose]();
  });

  const page = await browser.newPage();
  const { port } = site.address() as AddressInfo;
  await page.goto(`http://127.0.0.1:${port}/?agent=${encodeURIComponent(agentUrl)}`);
  await page.locator('body[data-connected="true"]').waitFor();
  const send = async (text: string) => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const last = () => page.locator('#messages li').last();

  await send('/long 5');
  await waitFor('the answer', async () => (await last().textContent()) === 'word1 word2 word3 word4 word5');
  await send('/tool set_title {"title": "Hello"}');
  await waitFor('the new title', async () => (await page.title()) === 'Hello');
  await send('/long 5000');
  await page.locator('li[data-status="streaming"]').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('li[data-status="aborted"]').waitFor();
  await waitFor('the end', async () => (await page.locator('#status').textContent()) === 'ready');
  expect(await page.locator('#messages li').count()).toBe(6);
});
