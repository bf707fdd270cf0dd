// After `changeset version`: the unreleased changes in CHANGELOG.md become those of the new version, also of the workspace.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'apps/cli/package.json'), 'utf8')) as { version: string };

rewrite('CHANGELOG.md', (text) =>
  text.includes(`\n## ${version}\n`) ? text : text.replace('## Unreleased\n', `## Unreleased\n\n## ${version}\n`),
);
rewrite('package.json', (text) => text.replace(/"version": "[^"]+"/, `"version": "${version}"`));

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(join(root, file), change(readFileSync(join(root, file), 'utf8')));
}
