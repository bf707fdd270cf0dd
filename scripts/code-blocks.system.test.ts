// Every code block of the documents: TypeScript is type-checked, data is parsed, and shell lines name commands, options and
// scripts that exist. The guides' own tests also run theirs.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTools } from '@palaver/test-kit/install-tools';
import { createProgram } from 'palaver/create-program';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import manifest from '../package.json' with { type: 'json' };
import { type CodeBlock, toCodeBlocks } from '../test/guides/code-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync(['*.md', 'docs/**/*.md', '{packages,services,apps}/*/README.md'], { cwd: root }).sort();
/** Examples in the TSDoc of what authors import. */
const sources = globSync(
  ['packages/{agent,agent-plugins,contract,offline-model,program,protocol,service-kit,store,ucan}/src/**/*.ts'],
  {
    cwd: root,
  },
).sort();
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const blocks = [
  ...files.flatMap((file) => toCodeBlocks(file, read(file))),
  ...sources.flatMap((file) => toCodeBlocks(file, read(file).replaceAll(/^ *\* ?/gm, ''))),
];
const checked = ['ts', 'tsx', 'js', 'sh', 'json', 'yaml'];
/** Only shown: configuration of other programs, data, and what a program prints. */
const shown = ['', 'csv', 'haproxy', 'ini', 'nginx', 'txt', 'xml'];

it('every block is of a kind that is checked, or of another program', () => {
  expect(blocks.length).toBeGreaterThan(30);
  const others = blocks.filter(({ language }) => ![...checked, ...shown].includes(language));
  expect(others.map(({ place, language }) => `${place} ${language}`)).toEqual([]);
});

it('TypeScript compiles', () => {
  mkdirSync(join(root, 'data'), { recursive: true });
  // Inside the repository, so that its packages are found.
  const folder = mkdtempSync(join(root, 'data/code-blocks-'));
  try {
    for (const block of blocks.filter(({ language }) => /^(?:ts|tsx|js)$/.test(language))) writeBlock(folder, block);
    // Pages take styles by their bundler.
    writeFileSync(join(folder, 'css.d.ts'), "declare module '*.css';");
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.json',
        // Types of other libraries cannot always be named in a declaration.
        compilerOptions: {
          declaration: false,
          lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable'],
          types: ['node', 'react'],
        },
        include: ['.'],
        exclude: ['**/node_modules'],
      }),
    );
    const { stdout } = spawnSync('tsc', ['-p', folder], { encoding: 'utf8', shell: process.platform === 'win32' });
    expect(stdout.replaceAll(/^data\/code-blocks-\w+\//gm, '')).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Blocks of one document share a folder: those with a file name can import each other. */
function writeBlock(folder: string, { place, language, name, code, given }: CodeBlock): void {
  const [document = '', line] = place.split(':');
  const home = join(folder, document.replaceAll('/', '_'));
  const isNew = mkdirSync(home, { recursive: true }) !== undefined;
  // Their examples are programs of other libraries too.
  if (isNew && ['docs/standards.md', 'docs/from-ai-sdk.md'].includes(document))
    symlinkSync(join(installTools('clients'), 'node_modules'), join(home, 'node_modules'), 'junction');
  writeFileSync(
    join(home, name ?? `line-${line}.${language === 'js' ? 'ts' : language}`),
    `${given}\n${code}\nexport {};\n`,
  );
}

it.each(blocks.filter(({ language }) => language === 'json').map(({ place, code }) => [place, code]))(
  '%s is JSON',
  (_, code) => {
    expect(() => JSON.parse(code)).not.toThrow();
  },
);

it.each(blocks.filter(({ language }) => language === 'yaml').map(({ place, code }) => [place, code]))(
  '%s is YAML',
  (_, code) => {
    expect(parseAllDocuments(code).flatMap(({ errors }) => errors)).toEqual([]);
  },
);

it('shell lines run scripts, commands and options that exist', () => {
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(toCommands);
  // Guides for authors use the scripts of the project that `npm create palaver` writes.
  const created = JSON.parse(
    readFileSync(join(root, 'packages/create-palaver/template/package.template.json'), 'utf8'),
  );
  const scripts = Object.keys({ ...manifest.scripts, ...created.scripts });
  const faults = lines.flatMap(({ place, words }) => {
    const [program, first = '', second = ''] = words;
    if (program === 'npm' && first === 'run' && !scripts.includes(second) && !words.includes('-w'))
      return `${place}: there is no npm script ${second}`;
    return program === 'palaver' ? findPalaverFaults(words.slice(1)).map((fault) => `${place}: ${fault}`) : [];
  });
  expect(lines.filter(({ words }) => words[0] === 'palaver').length).toBeGreaterThan(5);
  expect(faults).toEqual([]);
});

interface ShellCommand {
  place: string;
  words: string[];
}

/** The commands of a block, one by one, without what surrounds them. */
function toCommands({ place, code }: CodeBlock): ShellCommand[] {
  return code
    .replaceAll(/\\\n/g, ' ')
    .replaceAll(/(?:^|\s)#.*$/gm, '')
    .split(/\n|&&|\|\|?|;|\$\(/)
    .map((command) => command.trim().replace(/^(?:(?:[A-Z_]+=\S*|npx|sudo)\s+)+/, ''))
    .map((command) => ({ place, words: command.split(/\s+/) }));
}

const program = createProgram();

function findPalaverFaults(words: string[]): string[] {
  let command = program;
  let index = 0;
  for (; index < words.length; index += 1) {
    const next = command.commands.find((each) => each.name() === words[index]);
    if (!next) break;
    command = next;
  }
  if (command === program && !words[0]?.startsWith('-')) return [`palaver ${words[0]} does not exist`];
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/[=)].*$/, ''));
  return options
    .filter((option) => option !== '--help' && !command.options.some(({ long }) => long === option))
    .map((option) => `palaver ${command.name()} has no ${option}`);
}
