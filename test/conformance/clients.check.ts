// Clients of others, from their registries on first use, unmodified. Against the OpenAI door: what they need to get an answer in
// a given form and to call their own tools. Against the AG-UI door: a page and its agent that share a state.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestAgent, type TestAgent } from '../../packages/agent/test/test-agent.ts';
import { servePage } from '../clients/serve-page.ts';
import { installNode, installPython, run } from './programs.ts';

const zod = 'zod@4.6.7';
const clients = [
  { program: 'langchain.js', packages: [zod, '@langchain/core@1.2.13', '@langchain/openai@1.6.0'] },
  { program: 'langchain.py', packages: ['langchain-openai==1.7.3'] },
  { program: 'ai-sdk.js', packages: [zod, 'ai@7.0.173', '@ai-sdk/openai@4.0.118', '@ai-sdk/openai-compatible@3.0.92'] },
  { program: 'openai-agents.js', packages: [zod, '@openai/agents@0.20.0'] },
  { program: 'openai_agents.py', packages: ['openai-agents==0.24.0'] },
  { program: 'pydantic_agents.py', packages: ['pydantic-ai-slim[openai]==2.68.0'] },
];

let agent: TestAgent;
beforeAll(async () => {
  agent = await startTestAgent({ env: { OFFLINE_WORDS_PER_SECOND: '1000' } });
});
afterAll(() => agent[Symbol.asyncDispose]());

test.each(clients)('$program', async ({ program, packages }) => {
  const isPython = program.endsWith('.py');
  const folder = isPython ? installPython(program, packages) : installNode(program, packages);
  const command = isPython ? join(folder, 'bin/python') : process.execPath;
  cpSync(fileURLToPath(new URL('clients', import.meta.url)), join(folder, 'programs'), { recursive: true });
  // After the installation, which may take longer than a token lasts.
  const user = await agent.createUser();
  const env = { ...process.env, AGENT_URL: agent.url, TOKEN: user.invocation };
  const { output } = await run(command, [join(folder, 'programs', program)], { env });
  const cases = output.split('\n').filter((line) => line.startsWith('{"name"'));
  const results = cases.map((line) => JSON.parse(line) as { name: string; passed: boolean; why?: string });
  console.log(`${program}: ${results.filter(({ passed }) => passed).length} of ${results.length} passed`);
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
  expect(results.length, output).toBeGreaterThan(4);
});

test('CopilotKit: the agent reads the state of the page, and changes it', async () => {
  await using site = await servePage(installTools('browser-clients'), 'copilotkit.js');
  const user = await agent.createUser();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const sent: { state?: object }[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/agui') && request.method() === 'POST') sent.push(request.postDataJSON());
    });
    const settings = { url: agent.url, token: user.invocation, chat: await user.createSession() };
    await page.goto(`${site.url}#${new URLSearchParams(settings)}`);
    const say = async (text: string) => {
      await page.fill('textarea', text);
      await page.press('textarea', 'Enter');
    };
    const shows = (state: object) => expect.poll(() => page.textContent('output')).toBe(JSON.stringify(state));
    await page.waitForSelector('textarea');
    await page.click('#open');
    await shows({ barn: 'open' });
    await say('/tool update_page_state {"changes":{"barn":"shut","goats":12}}');
    await shows({ barn: 'shut', goats: 12 });
    await expect.poll(async () => (await user.messages(settings.chat)).length).toBe(2);
    await page.click('#open');
    await shows({ barn: 'open', goats: 12 });
    await say('/long 2');
    await expect.poll(() => page.textContent('body')).toContain('word1 word2');
    expect(sent.map(({ state }) => state)).toEqual([{ barn: 'open' }, { barn: 'open', goats: 12 }]);
  } finally {
    await browser.close();
  }
});
