import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, it } from 'vitest';

const main = join(import.meta.dirname, '../src/main.ts');
const root = join(import.meta.dirname, '../../..');
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

async function create(cwd: string, ...args: string[]): Promise<{ code: number | string; output: string }> {
  const run = startProcess(process.execPath, [main, ...args], { cwd });
  return { code: await run.exited, output: run.output() };
}

it('writes a project and prints what to do next', async () => {
  await using dir = await createTempDir();
  const { code, output } = await create(dir.path, 'farm-helper', '--no-install');
  expect(code, output).toBe(0);
  expect(output).toContain('Next:\n  cd farm-helper\n  npm install\n  npm run dev\n');
  const project = join(dir.path, 'farm-helper');
  const files = ['.env.example', '.gitignore', 'README.md', 'agent.ts', 'package.json', 'tsconfig.json'];
  expect(readdirSync(project).sort()).toEqual([...files, 'weather.test.ts', 'weather.ts']);
  const { version } = readJson(join(root, 'packages/create-palaver/package.json'));
  const manifest = readJson(join(project, 'package.json'));
  expect(manifest).toMatchObject({ name: 'farm-helper', dependencies: { '@palaver/agent': `^${version}` } });
  expect(Object.keys(manifest.scripts)).toEqual(['dev', 'start', 'test', 'types']);
  expect(readFileSync(join(project, 'README.md'), 'utf8')).toMatch(/^# farm-helper\n/);
});

it('takes the default name where nobody can be asked', async () => {
  await using dir = await createTempDir();
  expect(await create(dir.path, '--yes', '--no-install')).toMatchObject({ code: 0 });
  expect(readdirSync(dir.path)).toEqual(['my-agent']);
});

it('refuses a folder that is not empty, and leaves it alone; an empty one is used', async () => {
  await using dir = await createTempDir();
  mkdirSync(join(dir.path, 'used'));
  writeFileSync(join(dir.path, 'used/notes.txt'), 'mine');
  const { code, output } = await create(dir.path, 'used', '--no-install');
  expect([code, output]).toEqual([1, 'The folder used is not empty. Choose another name, or empty it.\n']);
  expect(readdirSync(join(dir.path, 'used'))).toEqual(['notes.txt']);
  mkdirSync(join(dir.path, 'fresh'));
  expect(await create(dir.path, 'fresh', '--no-install')).toMatchObject({ code: 0 });
});

it.each(['../elsewhere', 'My Agent', '.', '-', 'a/b', 'a'.repeat(65)])('refuses the name %j', async (name) => {
  await using dir = await createTempDir();
  const { code, output } = await create(dir.path, '--no-install', '--', name);
  expect([code, output]).toEqual([1, expect.stringContaining('cannot be the name of a project')]);
  expect(readdirSync(dir.path)).toEqual([]);
});

it('asks for the versions that are tested here', () => {
  const { dependencies, devDependencies } = readJson(
    join(root, 'packages/create-palaver/template/package.template.json'),
  );
  const tested = readJson(join(root, 'package.json')).devDependencies;
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
    if (range !== '^__VERSION__') expect([name, range]).toEqual([name, tested[name]]);
});

it.each(['agent.ts', 'weather.ts', 'weather.test.ts'])('%s is the code of the guide', (name) => {
  const guide = readFileSync(join(root, 'docs/first-agent.md'), 'utf8');
  const code = readFileSync(join(root, 'packages/create-palaver/template', name), 'utf8');
  expect(guide).toContain(`\`\`\`ts ${name}\n${code}\`\`\``);
});
