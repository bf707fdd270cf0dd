export interface Manifest {
  [field: string]: unknown;
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  bin?: Entry;
  exports?: Entry;
  imports?: Entry;
}

/** A path, or paths by condition or by subpath. */
export type Entry = string | { [key: string]: Entry };

export interface Shared {
  license: string;
  repository: { type: string; url: string };
}

/** Node 22.18 is the first of its line that runs an author's `.ts` files without a flag. */
const engines = { node: '>=22.18' };

export function toPublishedManifest(manifest: Manifest, folder: string, shared: Shared): Manifest {
  const { devDependencies: _, scripts: __, ...kept } = manifest;
  const { bin, dependencies, exports, imports, version } = manifest;
  return {
    ...kept,
    license: shared.license,
    repository: { ...shared.repository, directory: folder },
    engines,
    publishConfig: { access: 'public' },
    ...(dependencies && { dependencies: toVersions(dependencies, version) }),
    ...(bin && { bin: toBuilt(bin, 'bin') }),
    ...(exports && { exports: { ...toSubpaths(toBuilt(exports)), './package.json': './package.json' } }),
    ...(imports && { imports: toBuilt(imports) }),
  };
}

/** The packages of the workspace are released and tested together, under one version. */
function toVersions(dependencies: Record<string, string>, version: string): Record<string, string> {
  const entries = Object.entries(dependencies).map(([name, range]) => [name, range === '*' ? version : range]);
  return Object.fromEntries(entries);
}

function toSubpaths(entry: Entry): { [subpath: string]: Entry } {
  if (typeof entry === 'string' || !Object.keys(entry).every((key) => key.startsWith('.'))) return { '.': entry };
  return entry;
}

function toBuilt(entry: Entry, condition = '.'): Entry {
  if (typeof entry !== 'string') {
    return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, toBuilt(value, key)]));
  }
  const [, path] = /^\.\/src\/(.+)\.tsx?$/.exec(entry) ?? [];
  if (path === undefined) return entry.replace(/^\.\/src\/(.+\.css)$/, './dist/$1');
  const types = `./dist/${path}.d.ts`;
  const code = `./dist/${path}.js`;
  if (condition === 'types') return types;
  return /^[.#]/.test(condition) ? { types, default: code } : code;
}
