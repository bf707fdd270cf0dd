// Finds words that stop a reader in documents, texts and comments: `node scripts/prose-lint.ts [file …]`. The list is
// scripts/prose-words.json: regular expressions, in which a space also matches a line break, and what to write instead.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import words from './prose-words.json' with { type: 'json' };

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = [
  '*.md',
  '.env.example',
  'docs/**/*.md',
  '.github/**/*.md',
  '{services,apps,packages,examples}/*/*.md',
];
const sources = [
  '{services,apps,packages}/*/{src,web,test}/**/*.{ts,tsx}',
  'examples/**/*.ts',
  'scripts/*.ts',
  'bench/**/*.ts',
  'test/**/*.ts',
  'apps/console/web/i18n/en.json',
];

const rules = Object.entries(words).map(([pattern, advice]) => ({
  pattern: new RegExp(`\\b(?:${pattern.replaceAll(' ', '(?: |\\n) *')})\\b`, 'gi'),
  advice,
}));

/** The lines of a document without its code; of a source, its texts and comments. */
function toProse(file: string, text: string): string[] {
  if (!/\.(?:tsx?|json)$/.test(file)) {
    let isCode = false;
    return text.split('\n').map((line) => {
      if (line.startsWith('```')) isCode = !isCode;
      return isCode ? '' : line.replace(/`[^`]*`/g, '').replace(/\]\([^)]*\)/g, ']');
    });
  }
  return text.split('\n').map((line) => {
    const comment = /^\s*(?:\/\/|\/?\*)(.*)$/.exec(line)?.[1];
    return (
      comment ??
      Array.from(line.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1/g), ([, , words = '']) => words)
        .filter((words) => words.includes(' '))
        .join(' ; ')
    );
  });
}

export function lintProse(file: string, text: string) {
  const prose = toProse(file, text).join('\n');
  return rules
    .flatMap(({ pattern, advice }) =>
      Array.from(prose.matchAll(pattern), ({ 0: found, index }) => ({
        file,
        line: prose.slice(0, index).split('\n').length,
        found: found.replace(/\s+/g, ' '),
        advice,
      })),
    )
    .sort((one, other) => one.line - other.line);
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const all = () => globSync([...documents, ...sources], { cwd: root });
  const files = given.length > 0 ? given : all().filter((file) => !/node_modules|prose-lint\.test/.test(file));
  const findings = files
    .sort()
    .flatMap((file) => lintProse(file, readFileSync(new URL(file, `file://${root}`), 'utf8')));
  for (const { file, line, found, advice } of findings) console.error(`${file}:${line}: "${found}": ${advice}`);
  console.log(`${files.length} files, ${findings.length} findings`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
