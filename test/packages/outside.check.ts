import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, freePort } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toCodeBlocks } from '../guides/code-blocks.ts';
import { walkGuide } from '../guides/walk-guide.ts';
import { createShell, type NodeLine, nodeFolder, prepareCache, type Shell } from './outside.ts';
import { packWorkspaces } from './pack-workspaces.ts';
import { readGuide } from './read-guide.ts';
import { startRegistry } from './registry.ts';

const menusGuide = 'docs/ussd-menus.md';
const dir = await createTempDir();
const [created, existing] = [join(dir.path, 'new/my-agent'), join(dir.path, 'existing/my-agent')];
const { files, commands } = readGuide('docs/first-agent.md');
const [createCommands = [], existingCommands = [], talkCommands = [], , testCommands = []] = commands;
const shells = new Map<NodeLine, Shell>();
let registry: Awaited<ReturnType<typeof startRegistry>>;

beforeAll(async () => {
  const tarballs = join(dir.path, 'tarballs');
  for (const folder of [tarballs, join(dir.path, 'new'), existing, join(dir.path, 'empty')])
    mkdirSync(folder, { recursive: true });
  packWorkspaces({ copy: join(dir.path, 'checkout'), folder: tarballs });
  registry = await startRegistry(tarballs);
  prepareCache(dir.path);
  for (const line of ['22', '24'] as const) {
    const node = nodeFolder(line);
    if (!node) throw new Error(`There is no package of Node ${line} for this platform in tools/node-22.`);
    shells.set(line, createShell({ home: dir.path, registry: registry.url, node }));
  }
});
afterAll(async () => {
  await registry?.close();
  await dir[Symbol.asyncDispose]();
});

function shellOf(line: NodeLine): Shell {
  const shell = shells.get(line);
  if (!shell) throw new Error(`no shell for Node ${line}`);
  return shell;
}

it('the guide creates a project, with the files that it shows', async () => {
  const [create = ''] = createCommands;
  expect(createCommands).toEqual(['npm create palaver@latest my-agent', 'cd my-agent', 'npm run dev']);
  const output = await shellOf('22').run(create, join(dir.path, 'new'));
  expect(output).toMatch(/Next:\n +cd my-agent\n +npm run dev/);
  // npm asks nobody whether a dependency may run its install script.
  expect(output).not.toContain('install-scripts');
  expect(readdirSync(created)).toEqual(
    expect.arrayContaining(['.env.example', '.gitignore', 'README.md', 'node_modules']),
  );
  for (const [name, code] of files) expect(readFileSync(join(created, name), 'utf8'), name).toBe(code);
  await expect(shellOf('22').run(create, join(dir.path, 'new'))).rejects.toThrow('The folder my-agent is not empty');
});

it('the guide extends a project that exists', async () => {
  for (const command of ['npm init --yes', ...existingCommands]) await shellOf('24').run(command, existing);
  for (const [name, code] of files) writeFileSync(join(existing, name), code);
});

it("the author's files and every declaration they lead to are free of type errors, without skipLibCheck", async () => {
  const { run } = shellOf('22');
  await run('npm run types', created);
  const output = await run('npx tsc --skipLibCheck false --pretty false || true', created);
  const faults = output.split('\n').filter((line) => line.includes(': error TS'));
  expect(faults).toEqual([]);
});

describe.each(['22', '24'] as const)('on Node %s', (line) => {
  it.each([
    ['a created project', created, 'npm run dev'],
    ['an existing project', existing, 'node agent.ts'],
  ])('%s starts, converses and passes its test', async (_title, project, command) => {
    const { start, run } = shellOf(line);
    const agent = start(command, project, { PORT: String(await freePort()), LOG_LEVEL: 'warn' });
    try {
      await agent.printed('Farm helper listens at', 60_000);
      const url = /http:\/\/\S+/.exec(agent.output())?.[0] ?? '';
      const toThis = (text: string) => text.replaceAll('http://127.0.0.1:4100', url);
      const [token = '', session = '', message = ''] = talkCommands.map(toThis);
      await run(token, project);
      const { sessionId } = JSON.parse((await run(session.replace('curl', 'curl -s'), project)).trim());
      const frames = await run(message.replace('<sessionId>', sessionId).replace('curl', 'curl -s'), project);
      expect(frames).toContain('event: done');
      const asked = message
        .replace('<sessionId>', sessionId)
        .replace('hello', '/tool forecast {\\"place\\": \\"Kisumu\\"}');
      expect(await run(asked.replace('curl', 'curl -s'), project)).toContain('rain in the afternoon');
    } finally {
      agent.kill('SIGTERM');
      await agent.exited;
    }
    for (const check of testCommands) expect(await run(check, project)).toMatch(/1 passed/);
  });

  it('the tutorial of programs does what it says', async () => {
    const { start, run: runToEnd } = shellOf(line);
    const folder = join(dir.path, `tutorial-${line}`);
    mkdirSync(folder);
    await runToEnd('npm install palaver', folder);
    await using stack = new AsyncDisposableStack();
    const run = async (args: readonly string[], typed: readonly string[]) => {
      writeFileSync(join(folder, 'typed.txt'), typed.map((input) => `${input}\n`).join(''));
      const quoted = args.map((arg) => `'${arg}'`).join(' ');
      const { exited, output } = start(`npx palaver ${quoted} < typed.txt`, folder, { npm_config_loglevel: 'error' });
      await exited;
      return output();
    };
    const serve = async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      const service = start('npx palaver ussd', folder, { PORT: new URL(url).port });
      stack.defer(async () => {
        service.kill('SIGTERM');
        await service.exited;
      });
      await service.printed(url, 120_000);
      return url;
    };
    const blocks = toCodeBlocks(menusGuide, readFileSync(join(import.meta.dirname, '../..', menusGuide), 'utf8'));
    for await (const { place, command, printed, expected } of walkGuide(blocks, folder, { run, serve }))
      if (expected) expect(printed, `${place}: ${command}`).toMatch(expected);
  }, 900_000);

  it('`npx palaver up` starts everything in an empty folder: phone, chat, query and page', async () => {
    const { start, run } = shellOf(line);
    const folder = join(dir.path, 'empty');
    const names = ['AGENT', 'CONSOLE', 'DEVNODE', 'GATEWAY', 'USSD'];
    const ports = Object.fromEntries(
      await Promise.all(names.map(async (name) => [`${name}_PORT`, String(await freePort())])),
    ) as Record<string, string>;
    const urlOf = (name: string) => `http://127.0.0.1:${ports[`${name}_PORT`]}`;
    const palaver = start('npx --yes palaver@latest up', folder, { ...ports, LOG_LEVEL: 'warn' });
    try {
      await palaver.printed('Ctrl-C stops everything', 120_000);
      const page = await (await fetch(urlOf('CONSOLE'))).text();
      const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? [];
      expect((await fetch(urlOf('CONSOLE') + script)).headers.get('content-type')).toMatch(/javascript/);
      const dialled = await fetch(`${urlOf('USSD')}/api/ussd`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId: 'outside', serviceCode: '*2706#', phoneNumber: '+254700000001', text: '' }),
      });
      expect(await dialled.text()).toMatch(/^CON /);
      const query = await fetch(`${urlOf('GATEWAY')}/ixo/token/params`);
      expect([query.status, Object.keys((await query.json()) as object)]).toEqual([200, ['params']]);
      const headers = await run(`npx --yes palaver@latest token --for ${urlOf('AGENT')} --headers 2>/dev/null`, folder);
      const signed = Object.fromEntries(
        headers
          .trim()
          .split('\n')
          .map((each) => each.split(/: (.*)/)),
      );
      const session = await fetch(`${urlOf('AGENT')}/sessions`, { method: 'POST', headers: signed });
      const { sessionId } = (await session.json()) as { sessionId: string };
      const chat = await fetch(`${urlOf('AGENT')}/messages/${sessionId}`, {
        method: 'POST',
        headers: { ...signed, 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'hello' }),
      });
      expect(await chat.json()).toMatchObject({ message: { content: expect.stringMatching(/\w/) } });
    } finally {
      palaver.kill('SIGTERM');
      await palaver.exited;
    }
  });
});
