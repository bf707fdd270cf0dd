// Folders import only lower ones, so that none can be understood only together with one above it.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** From the highest to the lowest. Folders of one line do not import each other. */
const layers = {
  'packages/program/src': [
    'index.ts',
    'playground.ts',
    'explore',
    'check',
    'run',
    'show parse',
    'states',
    'actions',
    'model',
    'values',
  ],
  'services/ussd/src': [
    'commands',
    'main.ts',
    'app.ts',
    'domain.ts',
    'operators',
    'channel',
    'calls',
    'catalog',
    'actions',
    'people money outgoing',
    'store',
    'config.ts metrics.ts',
    'smpp-options.ts smpp.d.ts',
  ],
};

/** What the language may be built on. All of it runs in browsers. */
const foundations = [
  '@bufbuild/cel',
  '@bufbuild/cel-spec',
  '@bufbuild/re2',
  '@palaver/contract',
  'lru-cache',
  'papaparse',
  'yaml',
  'zod',
];

const filesOf = (folder: string) => globSync(`${folder}/**/*.ts`, { cwd: root, exclude: ['**/*.test.ts'] });

function importsOf(file: string): string[] {
  // Examples in comments import nothing.
  const text = readFileSync(join(root, file), 'utf8').replace(/^ *\*.*$/gm, '');
  return Array.from(text.matchAll(/(?:\bfrom |\bimport\(|\bimport )'([^'\n]+)'/g), ([, path = '']) => path);
}

it.each(Object.entries(layers))('the folders of %s import lower ones only', (folder, order) => {
  const partOf = (file: string) => relative(folder, file).split('/')[0] ?? '';
  const levelOf = (file: string) => order.findIndex((names) => names.split(' ').includes(partOf(file)));
  const faults: string[] = [];
  let count = 0;
  for (const file of filesOf(folder)) {
    if (levelOf(file) < 0 && partOf(file) !== 'internal.ts') faults.push(`${file} has no level`);
    for (const path of importsOf(file).filter((path) => path.startsWith('.'))) {
      const target = join(dirname(file), path);
      if (partOf(target) === partOf(file) || partOf(file) === 'internal.ts') continue;
      count++;
      if (levelOf(target) <= levelOf(file)) faults.push(`${file} imports ${target}`);
    }
  }
  expect(count).toBeGreaterThan(50);
  expect(faults).toEqual([]);
});

it.each(['people', 'money', 'outgoing', 'actions', 'catalog', 'calls', 'operators'])('%s has one start', (folder) => {
  expect(globSync(`services/ussd/src/${folder}/start-*.ts`, { cwd: root })).toHaveLength(1);
  expect(readFileSync(join(root, 'services/ussd/src/domain.ts'), 'utf8')).toContain(`'./${folder}/start-`);
});

it('the language imports nothing but what runs in browsers', () => {
  const files = filesOf('packages/program/src');
  const packages = files.flatMap(importsOf).filter((path) => !path.startsWith('.'));
  const names = packages.map((path) =>
    path
      .split('/')
      .slice(0, path.startsWith('@') ? 2 : 1)
      .join('/'),
  );
  expect(files.length).toBeGreaterThan(40);
  expect([...new Set(names)].sort()).toEqual([...foundations].sort());
});

it('a thread that fills in forms loads what it needs of the language, not all of it', () => {
  const seen = new Set<string>();
  const walk = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(join(root, file), 'utf8').replace(/^(?:import|export) type [^;]*;/gm, '');
    for (const [, path = ''] of text.matchAll(/from '([^'\n]+)'/g)) {
      if (path.startsWith('.')) walk(join(dirname(file), path));
      else expect(path, file).not.toMatch(/^@palaver\/.*internal$/);
    }
  };
  walk('packages/forms/src/form-worker.ts');
  expect(seen.size).toBeGreaterThan(5);
});

it('a key press passes at most 15 files of the service and 10 of the language, all of them named', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const [, service = '', language = ''] =
    /A key press on a menu passes([\s\S]*?)and in `packages\/program\/src`:([\s\S]*?)\n\n/.exec(text) ?? [];
  const filesIn = (part: string, folder: string) =>
    Array.from(part.matchAll(/`([\w/-]+\.ts)`/g), ([, file = '']) => join(root, folder, file));
  const ways = [filesIn(service, 'services/ussd/src'), filesIn(language, 'packages/program/src')];
  expect(ways.flat().filter((file) => !existsSync(file))).toEqual([]);
  for (const [i, most] of [15, 10].entries()) {
    expect(ways[i]?.length).toBeGreaterThan(5);
    expect(ways[i]?.length).toBeLessThanOrEqual(most);
  }
});
