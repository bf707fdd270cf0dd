// The guide's own code: taken out of it as it stands, started, talked to, and its test run.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
let folder: string;

beforeAll(async () => {
  const guide = await readFile(join(root, 'docs/first-agent.md'), 'utf8');
  // Inside the repository, like the reader's folder, so that its packages are found.
  await mkdir(join(root, 'data'), { recursive: true });
  folder = await mkdtemp(join(root, 'data/first-agent-'));
  for (const [, name = '', code = ''] of guide.matchAll(/```ts (\S+)\n(.*?)```/gs))
    await writeFile(join(folder, name), code);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it('the agent starts, converses and stops when told to', async () => {
  const agent = startProcess(process.execPath, [join(folder, 'agent.ts')], {
    env: { PORT: '0', DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'warn' },
  });
  try {
    await agent.printed('Farm helper listens at');
    const url = /http:\/\/\S+/.exec(agent.output())?.[0] ?? '';
    const { id } = (await (await fetch(`${url}/.well-known/did.json`)).json()) as { id: string };
    const { serialized } = await createInvocation({
      issuer: await createSigner(),
      audience: id,
      capability: { can: 'oracle/chat', with: id },
    });
    const headers = {
      authorization: `Bearer ${serialized}`,
      'x-auth-type': 'ucan',
      'content-type': 'application/json',
    };
    const post = async (path: string, body: object = {}) => {
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { sessionId: string; message: { content: string } };
    };
    const { sessionId } = await post('/sessions');
    const { message } = await post(`/messages/${sessionId}`, { message: '/tool forecast {"place": "Kisumu"}' });
    expect(message.content).toContain('rain in the afternoon');
    agent.kill('SIGTERM');
    expect(await agent.exited).toBe(0);
  } finally {
    agent.kill();
  }
});

it('its test passes', async () => {
  const run = startProcess(process.execPath, [vitest, 'run', '--root', folder]);
  expect(await run.exited, run.output()).toBe(0);
  expect(run.output()).toMatch(/1 passed/);
});
