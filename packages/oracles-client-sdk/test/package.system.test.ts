import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTempDir, freePort, launchBrowser } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { build, createServer, type Rolldown } from 'vite';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkBothThemes, checkOwnThemes, loadPlainPage } from '../../../test/consumers/chat-colours.ts';
import { buildPackage, copyPublished, packPublished } from '../scripts/build-package.ts';
import { measureSizes, toTable } from '../scripts/measure-size.ts';
import { findBarriers } from './find-barriers.ts';
import { openPage } from './open-page.ts';
import { serveFiles } from './serve-files.ts';
import { startAgent, type TestAgent } from './start-agent.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
const projects = fileURLToPath(new URL('../../../test/consumers/projects', import.meta.url));
const react18Modules = join(installTools('test'), 'node_modules');

let tarball: string;

beforeAll(async () => {
  await buildPackage();
  const dir = await createTempDir();
  tarball = await packPublished(dir.path);
  return () => dir[Symbol.asyncDispose]();
});

describe('the package', () => {
  it('is clean by publint', async () => {
    await using dir = await createTempDir();
    await copyPublished(dir.path);
    const { messages, pkg } = await publint({ pkgDir: dir.path, strict: true, pack: 'npm' });
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
  });

  it('packs neither tests nor settings', () => {
    const packed = spawnSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: root });
    const [{ files }] = JSON.parse(packed.stdout.toString());
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter(({ path }: { path: string }) => /(^|\/)test\/|\.test|\.env|node_modules/.test(path))).toEqual(
      [],
    );
  });

  it('imports without a browser, and brings no zod, React or LiveKit of its own', async () => {
    const script = `
      const names = [];
      for (const entry of ['index', 'core/index']) names.push(Object.keys(await import('${root}dist/' + entry + '.js')).length);
      console.log(names.every((count) => count > 8));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    expect(stderr.toString()).toBe('');
    expect(stdout.toString().trim()).toBe('true');
    const main = await readFile(`${root}dist/core/index.js`, 'utf8');
    expect(main).not.toMatch(/react|livekit|zod/);
  });

  it('marks what needs a browser for server components, and nothing else', async () => {
    for (const file of [
      'react/oracles-provider',
      'react/use-chat',
      'react/content-view',
      'live-agent/use-live-agent',
    ]) {
      expect(await readFile(`${root}dist/${file}.js`, 'utf8'), file).toMatch(/^"use client";/);
    }
    for (const file of ['index', 'core/index', 'core/chat', 'core/oracle-error']) {
      expect(await readFile(`${root}dist/${file}.js`, 'utf8'), file).not.toContain('use client');
    }
  });

  it('stays within its size', async () => {
    const rows = await measureSizes();
    // biome-ignore lint/suspicious/noConsole: the table is what people look for.
    console.log(`\n${toTable(rows)}\n`);
    for (const { name, gzipped, budget } of rows) expect(gzipped, name).toBeLessThanOrEqual(budget);
  });
});

it('chats in plain Node, and in a browser from a page that Vite has built', async () => {
  const port = await freePort();
  await using agent = await startAgent({ PORT: String(port), ORACLE_DID: `did:web:127.0.0.1%3A${port}` });
  await using dir = await createTempDir();
  await installInto(dir.path, modules, 'zod');
  await cp(projects, dir.path, { recursive: true });
  const [node, page] = [join(dir.path, 'node'), join(dir.path, 'vite')];
  const { stdout } = await promisify(execFile)(process.execPath, ['chat.js', agent.url, agent.did], { cwd: node });
  expect(stdout.trim().split('\n')).toEqual(['human: /long 3', 'ai: word1 word2 word3']);

  const { output } = (await build({
    root: page,
    configFile: false,
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic' } },
    build: { write: false },
  })) as Rolldown.RolldownOutput;
  const files = output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source] as const);
  const site = await serveFiles(new Map(files));
  onTestFinished(() => void site.close());
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const opened = await openPage(browser, site.url, { did: agent.did });
  await opened.getByRole('button', { name: 'Start' }).click();
  await opened.locator('[data-connected="true"]').waitFor();
  await opened.getByLabel('Message').fill('/tool read_title {}');
  await opened.getByRole('button', { name: 'Send' }).click();
  await opened.getByText('{"title":"The farm"}').waitFor();
});

it('is an element of a page without React, in a language and a theme, without barriers', async () => {
  await using agent = await startAgent();
  const names = await readdir(`${root}dist/web`);
  const scripts = names.map(async (name) => [`/${name}`, await readFile(`${root}dist/web/${name}`)] as const);
  const html = `<!doctype html><html lang="en"><title>The farm</title><main><h1>Chat</h1>
    <palaver-chat agent="${agent.did}" url="${agent.url}" lang="ar" theme="dark"></palaver-chat>
    <palaver-chat id="other"></palaver-chat>
    <palaver-chat id="unnamed" url="${agent.url}"></palaver-chat>
    <palaver-chat id="away" url="http://127.0.0.1:${await freePort()}"></palaver-chat></main>
    <script>document.querySelector('palaver-chat').labels = { send: 'Post' };</script>
    <script type="module" src="/palaver-chat.js"></script>`;
  const files = new Map<string, string | Uint8Array>([['/index.html', html], ...(await Promise.all(scripts))]);
  const site = await serveFiles(files);
  onTestFinished(() => void site.close());
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const page = await openPage(browser, site.url, {});
  await page.getByRole('button', { name: 'محادثة جديدة' }).click();
  await page.getByLabel('رسالة', { exact: true }).fill('/long 3');
  // Set before the element was defined.
  await page.getByRole('button', { name: 'Post' }).click();
  await page.getByRole('log').getByText('word1 word2 word3').first().waitFor();
  // Two elements at once on a first visit have one key, which is still there after a reload.
  const readUsers = () =>
    page.evaluate<string[]>(`[...document.querySelectorAll('palaver-chat')].map((element) => element.wallet?.did)`);
  const [user, ...others] = await readUsers();
  expect(others).toEqual([user, user, user]);
  await page.reload();
  await page.getByRole('log').getByText('word1 word2 word3').first().waitFor();
  expect((await readUsers())[0]).toBe(user);
  expect(await page.locator('.palaver-chat').first().getAttribute('dir')).toBe('rtl');
  expect(await findBarriers(page)).toEqual([]);
  // Without a DID, the address is enough; without both, the page says what is missing.
  await page.locator('#unnamed').getByRole('navigation').getByText('/long 3').waitFor();
  await page.locator('#other').getByText('Set the attribute agent or url of this element.').waitFor();
  const away = page.locator('#away');
  await away.getByRole('alert').getByText('cannot be reached').waitFor();
  await away.getByRole('button', { name: 'Try again' }).click();
  await away.getByText('cannot be reached').waitFor();
  // Another language, and nobody signed in.
  await page.evaluate(`Object.assign(document.querySelector('palaver-chat'), { lang: 'fr', wallet: null })`);
  await page.getByText('Connectez-vous pour discuter.').waitFor();
  expect(await page.locator('.palaver-chat').first().getAttribute('dir')).toBe(null);
  // Without its words, the element is in English.
  await page.route('**/translated-labels.js', (route) => route.abort());
  await page.reload();
  await page.getByRole('button', { name: 'New conversation' }).first().waitFor();
});

describe('the colours of the chat, as it is packed', () => {
  let agent: TestAgent;
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  beforeAll(async () => {
    agent = await startAgent();
    browser = await launchBrowser();
    return async () => {
      await browser.close();
      await agent[Symbol.asyncDispose]();
    };
  });
  const open = (siteUrl: string) => openPage(browser, siteUrl, { did: agent.did, url: agent.url });

  /** A project of Vite with the settings that every project has. */
  async function createProject() {
    const dir = await createTempDir();
    onTestFinished(() => dir[Symbol.asyncDispose]());
    await installInto(dir.path, modules, 'zod');
    const root = join(dir.path, 'chat');
    await cp(join(projects, 'chat'), root, { recursive: true });
    return { root, configFile: false, logLevel: 'error', oxc: { jsx: { runtime: 'automatic' } } } as const;
  }

  it('Vite, built', async () => {
    const { output } = (await build({
      ...(await createProject()),
      build: { write: false },
    })) as Rolldown.RolldownOutput;
    const files = output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source] as const);
    const site = await serveFiles(new Map(files));
    onTestFinished(() => void site.close());
    await checkBothThemes(await open(site.url), ['main', 'palaver-chat']);
  });

  it('Vite, in development', async () => {
    const server = await createServer({
      ...(await createProject()),
      // The peers are links into this repository.
      server: { host: '127.0.0.1', port: 0, fs: { strict: false } },
    });
    onTestFinished(() => server.close());
    await server.listen();
    await checkBothThemes(await open(server.resolvedUrls?.local[0] ?? ''), ['main', 'palaver-chat']);
  });

  it('a page without a build step, where elements have themes of their own', async () => {
    const { root } = await createProject();
    const library = join(root, '../node_modules/@palaver/oracles-client-sdk');
    const site = await serveFiles(await loadPlainPage(library));
    onTestFinished(() => void site.close());
    await checkOwnThemes(await open(site.url));
  });
});

describe.each([
  ['React 18, zod 3.22', react18Modules, 'zod322', 'nodenext'],
  ['React 18, zod 3.25', react18Modules, 'zod3', 'nodenext'],
  ['React 19, zod 4 and a bundler', modules, 'zod', 'bundler'],
])('an application with %s', (_name, react, zod, resolution) => {
  it('compiles against the published declarations, and its mistakes do not', async () => {
    await using dir = await createTempDir();
    await installInto(dir.path, react, zod);
    const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
    const args = [
      '--noEmit',
      '--skipLibCheck',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--jsx',
      'react-jsx',
      '--lib',
      'es2022,dom',
      '--types',
      'react',
    ];
    const { status, stdout } = spawnSync(
      'tsc',
      [...args, '--module', module, '--moduleResolution', resolution, 'app.tsx', 'older-app.tsx'],
      {
        cwd: dir.path,
      },
    );
    expect(stdout.toString()).toBe('');
    expect(status).toBe(0);
  });
});

/** A project with the packed package and its peers, as npm would lay it out. */
async function installInto(folder: string, react: string, zod: string): Promise<void> {
  const target = join(folder, 'node_modules/@palaver/oracles-client-sdk');
  await mkdir(target, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await mkdir(join(folder, 'node_modules/@types'));
  for (const name of ['react', '@types/react']) await symlink(join(react, name), join(folder, 'node_modules', name));
  for (const name of ['csstype', 'livekit-client', 'react-dom', 'socket.io-client']) {
    await symlink(join(modules, name), join(folder, 'node_modules', name));
  }
  await symlink(join(modules, zod), join(folder, 'node_modules/zod'));
  await cp(fileURLToPath(new URL('consumer/app.tsx', import.meta.url)), join(folder, 'app.tsx'));
  await cp(fileURLToPath(new URL('page/older-app.tsx', import.meta.url)), join(folder, 'older-app.tsx'));
}
