import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: root });

it.each(documents)('every link of %s leads somewhere', (file) => {
  const text = readFileSync(join(root, file), 'utf8').replace(/```.*?```/gs, '');
  const targets = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !leadsSomewhere(file, target))).toEqual([]);
});

it('every file that docs/security.md names exists', () => {
  const text = readFileSync(join(root, 'docs/security.md'), 'utf8');
  const named = [...text.matchAll(/`((?:apps|docs|packages|scripts|services)\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

function leadsSomewhere(file: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const linked = path === '' ? join(root, file) : join(root, dirname(file), path);
  if (!existsSync(linked)) return false;
  if (!anchor || !linked.endsWith('.md')) return true;
  const headings = [...readFileSync(linked, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => toAnchor(title));
  return headings.includes(anchor);
}

/** As the common hosts make an anchor from a heading. */
function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
