import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry, Manifest } from '../../scripts/published-manifest.ts';

export interface PackedPackage {
  name: string;
  manifest: Manifest;
  /** The content of every file by its path in the package. */
  files: Map<string, string>;
}

/** Unpacks the tarballs of `folder` and reads what is in them. */
export function readPackages(folder: string): PackedPackage[] {
  const tarballs = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  return tarballs.map((tarball) => {
    const target = join(folder, 'unpacked', tarball);
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', target]);
    const entries = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = entries.map((entry) => join(entry.parentPath, entry.name));
    const files = new Map(paths.map((path) => [path.slice(target.length + 1), readFileSync(path, 'latin1')]));
    const manifest = JSON.parse(files.get('package.json') ?? '{}') as Manifest;
    return { name: manifest.name, manifest, files };
  });
}

/** The files that a manifest promises: its entries, its own imports and its commands. */
export function promisedFiles({ exports = {}, imports = {}, bin = {} }: Manifest): string[] {
  return [exports, imports, bin as Entry].flatMap(listPaths).map((path) => path.replace(/^\.\//, ''));
}

function listPaths(entry: Entry): string[] {
  return typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(listPaths);
}

/** The packages that the code of a package imports. */
export function importedPackages({ files }: PackedPackage): Set<string> {
  const code = [...files]
    .filter(([path]) => path.endsWith('.js') && !path.startsWith('dist/web/'))
    .map(([, text]) => text);
  const specifiers = code.flatMap((text) =>
    Array.from(
      text.matchAll(/^(?:import|export|\}) ?(?:[^'"\n]* from )?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm),
      ([, one, two]) => one ?? two ?? '',
    ),
  );
  const bare = specifiers.filter((specifier) => !/^(\.|#|node:)/.test(specifier));
  return new Set(bare.map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier));
}
