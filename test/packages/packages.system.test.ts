// What strangers install: every published package, packed from a clean copy of the checkout.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packWorkspaces } from './pack-workspaces.ts';
import { importedPackages, type PackedPackage, promisedFiles, readPackages } from './read-packages.ts';

const root = join(import.meta.dirname, '../..');
const dir = await createTempDir();
const copy = join(dir.path, 'checkout');
const folder = join(dir.path, 'tarballs');
let packages: PackedPackage[];

beforeAll(() => {
  mkdirSync(folder);
  packWorkspaces({ copy, folder });
  packages = readPackages(folder);
}, 600_000);
afterAll(() => dir[Symbol.asyncDispose]());

describe('the packed packages', () => {
  it('are all that an outsider needs', () => {
    expect(packages.map(({ name }) => name).sort()).toEqual([
      '@palaver/agent',
      '@palaver/agent-plugins',
      '@palaver/agent-service',
      '@palaver/console',
      '@palaver/contract',
      '@palaver/devnode',
      '@palaver/forms',
      '@palaver/gateway',
      '@palaver/offline-model',
      '@palaver/oracles-client-sdk',
      '@palaver/program',
      '@palaver/protocol',
      '@palaver/service-kit',
      '@palaver/store',
      '@palaver/ucan',
      '@palaver/ussd',
      'create-palaver',
      'palaver',
    ]);
  });

  it('hold built code with declarations and source maps, and no tests, sources or settings of development', () => {
    const unexpected = /(^|\/)tests?\/|\.test[.-]|(?<!\.d)\.tsx?$|tsconfig|node_modules|package\.development/;
    for (const { name, files } of packages) {
      // The template of create-palaver is sources and a test.
      const paths = [...files.keys()].filter((path) => !path.startsWith('template/'));
      expect(
        paths.filter((path) => unexpected.test(path)),
        name,
      ).toEqual([]);
      expect(paths, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
      // The page is for browsers, the library's index files only export what others hold, and its words are data.
      const modules = paths.filter((path) =>
        /^dist\/(?!web\/)(?!.*\b(?:index|english-labels|translated-labels)\.js$).*\.js$/.test(path),
      );
      const missing = modules
        .flatMap((path) => [`${path}.map`, path.replace(/\.js$/, '.d.ts')])
        .filter((path) => !files.has(path));
      expect(missing, name).toEqual([]);
    }
  });

  it('name no path of the machine that packed them', () => {
    for (const { name, files } of packages) {
      const naming = [...files].filter(([, text]) => [root, dir.path, 'file:///'].some((path) => text.includes(path)));
      expect(
        naming.map(([path]) => path),
        name,
      ).toEqual([]);
      for (const [path, text] of files) {
        if (!path.endsWith('.map')) continue;
        const { sources, sourcesContent } = JSON.parse(text) as { sources: string[]; sourcesContent?: string[] };
        expect(
          sources.filter((source) => !/^(\.\.\/)+src\//.test(source)),
          path,
        ).toEqual([]);
        expect(sourcesContent, path).toHaveLength(sources.length);
      }
    }
  });

  it('have manifests for publishing: every entry exists, every import is a dependency, our own have exact versions', () => {
    for (const packed of packages) {
      const { name, manifest, files } = packed;
      expect(manifest).toMatchObject({
        license: 'Apache-2.0',
        repository: { type: 'git', directory: expect.stringMatching(/^(packages|services|apps)\//) },
        engines: { node: '>=22.18' },
        description: expect.any(String),
      });
      for (const field of ['private', 'scripts', 'devDependencies']) expect(manifest, name).not.toHaveProperty(field);
      const promised = promisedFiles(manifest).filter((path) => !path.includes('*'));
      expect(
        promised.filter((path) => !files.has(path)),
        name,
      ).toEqual([]);
      const { dependencies = {}, peerDependencies = {} } = manifest as Record<string, Record<string, string>>;
      const imported = [...importedPackages(packed)].filter(
        (each) => !(each in { ...dependencies, ...peerDependencies }),
      );
      expect(imported, name).toEqual([]);
      for (const [dependency, range] of Object.entries(dependencies))
        if (packages.some((each) => each.name === dependency)) expect(range).toBe(manifest.version);
        else expect(range, `${name}: ${dependency}`).toMatch(/^[~^]?\d/);
    }
  });
});
