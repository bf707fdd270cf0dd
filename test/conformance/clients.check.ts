// Clients of others, from their registries on first use, unmodified, against the OpenAI door: what they need to get an answer in
// a given form and to call their own tools.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestAgent, type TestAgent, type TestUser } from '../../packages/agent/test/test-agent.ts';
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
let user: TestUser;
beforeAll(async () => {
  agent = await startTestAgent({ env: { OFFLINE_WORDS_PER_SECOND: '1000' } });
  user = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

test.each(clients)('$program', async ({ program, packages }) => {
  const isPython = program.endsWith('.py');
  const folder = isPython ? installPython(program, packages) : installNode(program, packages);
  const command = isPython ? join(folder, 'bin/python') : process.execPath;
  cpSync(fileURLToPath(new URL('clients', import.meta.url)), join(folder, 'programs'), { recursive: true });
  const env = { ...process.env, AGENT_URL: agent.url, TOKEN: user.invocation };
  const { output } = await run(command, [join(folder, 'programs', program)], { env });
  const cases = output.split('\n').filter((line) => line.startsWith('{"name"'));
  const results = cases.map((line) => JSON.parse(line) as { name: string; passed: boolean; why?: string });
  console.log(`${program}: ${results.filter(({ passed }) => passed).length} of ${results.length} passed`);
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
  expect(results.length, output).toBeGreaterThan(4);
});
