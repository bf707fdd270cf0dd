import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

interface Packing {
  copy: string;
  folder: string;
  /** Packages by name; all by default. */
  names?: readonly string[];
}

/** Packs the packages of the workspace that are published, from a clean copy of the checkout, into `folder`. */
export function packWorkspaces({ copy, folder, names }: Packing): void {
  copyCheckout(copy);
  const published = globSync('{packages,services,apps}/*', { cwd: copy }).filter((path) => {
    const manifest = readManifest(copy, path);
    return !manifest.private && (names?.includes(manifest.name) ?? true);
  });
  const workspaces = published.flatMap((path) => ['--workspace', path]);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...workspaces], { cwd: copy });
}

/** The files that git knows or would add, with the installed packages of this checkout and links to its own. */
function copyCheckout(copy: string): void {
  const listing = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', listing, { cwd: root, encoding: 'utf8' }).trim().split('\n');
  for (const file of files) if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file));
  for (const modules of globSync('{node_modules,{packages,services,apps}/*/node_modules}', { cwd: root }))
    linkEntries(modules, copy);
}

function linkEntries(modules: string, copy: string): void {
  mkdirSync(join(copy, modules), { recursive: true });
  for (const entry of readdirSync(join(root, modules)))
    if (!/^(@palaver|palaver|create-palaver)$/.test(entry))
      symlinkSync(join(root, modules, entry), join(copy, modules, entry));
  if (modules !== 'node_modules') return;
  for (const path of globSync('{packages,services,apps}/*', { cwd: copy })) {
    const link = join(copy, modules, readManifest(copy, path).name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(copy, path), link);
  }
}

function readManifest(copy: string, path: string): { name: string; private?: boolean } {
  return JSON.parse(readFileSync(join(copy, path, 'package.json'), 'utf8'));
}
