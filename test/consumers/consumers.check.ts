// The packed client library as strangers use it: installed into new projects, built by their tools, opened in a browser.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, launchBrowser } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { serveFiles } from '../../packages/oracles-client-sdk/test/serve-files.ts';
import { startAgent, type TestAgent } from '../../packages/oracles-client-sdk/test/start-agent.ts';
import { checkBothThemes, checkOwnThemes, loadPlainPage } from './chat-colours.ts';
import { createProjects, type Projects } from './create-projects.ts';

let agent: TestAgent;
let projects: Projects;
let browser: Awaited<ReturnType<typeof launchBrowser>>;

beforeAll(async () => {
  projects = await createProjects();
  const port = await freePort();
  agent = await startAgent({ PORT: String(port), ORACLE_DID: `did:web:127.0.0.1%3A${port}` });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await agent?.[Symbol.asyncDispose]();
  await projects?.[Symbol.asyncDispose]();
});

/** Runs a project's server until the test ends, and opens its page; faults of the page fail the test. */
async function open(folder: string, command: (port: number) => string, env: Record<string, string> = {}) {
  const port = await freePort();
  const server = projects.shell.start(command(port), folder, env);
  onTestFinished(async () => {
    server.kill('SIGTERM');
    await server.exited;
  });
  await server.printed(new RegExp(`127\\.0\\.0\\.1:${port}`), 60_000);
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  onTestFinished(async () => {
    await page.close();
    expect(faults).toEqual([]);
  });
  // The pages with React find the agent by its DID alone; the examples take its address.
  const params = new URLSearchParams({ did: agent.did, url: agent.url });
  await page.goto(`http://127.0.0.1:${port}/?${params}`);
  return page;
}

test('plain Node: a chat with nothing installed but the library', async () => {
  const folder = await projects.install('test/consumers/projects/node');
  const installed = readdirSync(join(folder, 'node_modules'));
  expect(installed).not.toContain('react');
  expect(installed).not.toContain('zod');
  const output = await projects.shell.run(`node chat.js ${agent.url} ${agent.did}`, folder);
  expect(output.trim().split('\n')).toEqual(['human: /long 3', 'ai: word1 word2 word3']);
});

test.each([
  { REACT: '19.3.1', ZOD: '4.6.7' },
  { REACT: '18.3.1', ZOD: '3.22.4' },
])('Vite with %o: its own test with a fake agent; an answer, a tool of the page and an action', async (versions) => {
  const folder = await projects.install('test/consumers/projects/vite', versions);
  await projects.shell.run('npm test', folder);
  await projects.shell.run('npm run build', folder);
  const page = await open(folder, (port) => `npm run preview -- --port ${port}`);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('[data-connected="true"]').waitFor();
  const send = async (text: string) => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('form[data-status="ready"] li:last-child[data-type="ai"]').waitFor();
  };
  await send('/long 3');
  await page.getByText('word1 word2 word3').waitFor();
  await send('/tool read_title {}');
  await page.getByText('{"title":"The farm"}').waitFor();
  await send('/tool show_rain {"month":"May","millimetres":160}');
  await page.locator('b[data-status="done"]').getByText('May: 160 mm').waitFor();

  // A message that is loaded again is the same element.
  await page.evaluate(`for (const item of document.querySelectorAll('form li')) item.isKnown = true`);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect
    .poll(() => page.evaluate(`[...document.querySelectorAll('form li')].map((item) => item.isKnown === true)`))
    .toEqual(Array.from({ length: 6 }, () => true));
  await page.getByRole('button', { name: 'Contract' }).click();
  await page.locator('aside[data-contract="free"][data-contracted="true"]').waitFor();
  await page.getByRole('button', { name: 'Remember' }).click();
  await page.getByText('Grows tea').waitFor();
  const events = (await page.locator('aside').getAttribute('data-events'))?.split(' ');
  expect(events).toEqual(expect.arrayContaining(['run', 'message', 'browser_tool_call', 'action_call', 'done']));
});

test.each(['vue', 'svelte'])('the example with %s: an answer, and one that is stopped', async (name) => {
  const folder = await projects.install(`examples/${name}-page`);
  await projects.shell.run('npm run build', folder);
  const page = await open(folder, (port) => `npm run preview -- --port ${port}`);
  const send = async (text: string) => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  await send('/long 3');
  await page.getByText('word1 word2 word3').waitFor();
  await page.locator('form[data-status="ready"]').waitFor();
  await send('/long 5000');
  await page.locator('li[data-status="streaming"]').getByText('word9').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('li[data-status="aborted"]').waitFor();
});

test('Next: a server component imports the library, and the page chats', async () => {
  const folder = await projects.install('test/consumers/projects/next');
  await projects.shell.run('npm run build', folder, { NEXT_TELEMETRY_DISABLED: '1' });
  const env = { AGENT_URL: agent.url, AGENT_DID: agent.did, NEXT_TELEMETRY_DISABLED: '1' };
  const page = await open(folder, (port) => `npm start -- --port ${port}`, env);
  await page.locator('#intro strong').getByText('farm').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Message', { exact: true }).fill('/long 3');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('word1 word2 word3').waitFor();
  await checkBothThemes(page, ['main']);
});

test.each(['dev', 'build'])('Vite, %s: the chat and the element have the colours of both themes', async (mode) => {
  const folder = await projects.install('test/consumers/projects/chat');
  if (mode === 'build') await projects.shell.run('npm run build', folder);
  const page = await open(folder, (port) => `npm run ${mode === 'build' ? 'preview' : 'dev'} -- --port ${port}`);
  await checkBothThemes(page, ['main', 'palaver-chat']);
});

test('a page without a build step: elements with the colours of the page, and of their own themes', async () => {
  const folder = await projects.install('test/consumers/projects/html');
  const site = await serveFiles(await loadPlainPage(join(folder, 'node_modules/@palaver/oracles-client-sdk')));
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    await site.close();
  });
  await page.goto(`${site.url}?${new URLSearchParams({ did: agent.did, url: agent.url })}`);
  await checkOwnThemes(page);
});
