// What authors import: each function and each value of a package's main entry explains itself with an example, which
// `code-blocks.system.test.ts` compiles, each type with a sentence (the examples of the functions show it), and whatever the agent's documented hooks take or give can be imported too.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { toCodeBlocks } from '../test/guides/code-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
/** How many exports each package has at least: fewer are found where the reading of its index fails. */
const leastExports = {
  agent: 86,
  'agent-plugins': 2,
  contract: 38,
  'offline-model': 2,
  protocol: 21,
  'service-kit': 27,
  store: 20,
  ucan: 19,
};
const packages = Object.keys(leastExports);
const sources = globSync(`packages/{${packages}}/src/**/*.ts`, { cwd: root })
  .filter((file) => !file.includes('.test'))
  .map(read);

/** The names in the braces of imports or exports. */
function namesIn(text: string, statement: RegExp): string[] {
  return [...text.matchAll(statement)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter(Boolean),
  );
}

const exportsOf = (name: string) =>
  namesIn(read(`packages/${name}/src/index.ts`), /export (?:type )?\{([^}]*)\} from/g);
const exported = exportsOf('agent');

/** Those of the names whose declaration does not explain itself. */
function unexplained(names: string[]): string[] {
  return names.filter((name) => {
    const declaration = new RegExp(
      `/\\*\\*((?:(?!\\*/)[^])*)\\*/\\nexport (?:async )?(interface|type|function|class|const) ${name}\\b`,
    );
    return !sources.some((text) => {
      const [, comment = '', kind = ''] = declaration.exec(text) ?? [];
      return comment.includes('@example') || ['interface', 'type'].includes(kind);
    });
  });
}

it.each(Object.entries(leastExports))('every export of %s explains itself', (name, least) => {
  const names = exportsOf(name);
  expect(names.length).toBeGreaterThanOrEqual(least);
  expect(unexplained(names)).toEqual([]);
});

it('what hooks take, give and throw is exported', () => {
  const hooks = ['plugin.ts', 'tool.ts', 'middleware.ts', 'runtime-context.ts', 'agent-run.ts'].map((file) =>
    read(`packages/agent/src/define/${file}`),
  );
  const named = hooks.flatMap((text) => [
    ...namesIn(text, /import (?:type )?\{([^}]*)\} from '(?:@palaver\/|\.)/g),
    ...[...text.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name = '']) => name),
  ]);
  expect(named.filter((name) => !exported.includes(name))).toEqual([]);
  expect(exported).toEqual(expect.arrayContaining(['AppError', 'ToolError']));
});

it('bundled plugins, doors, examples, the template and the documents need no cast and no any', () => {
  const programs = globSync(
    ['packages/agent-plugins/src/**/*.ts', 'examples/**/*.ts', 'packages/create-palaver/template/**/*.ts'],
    { cwd: root, exclude: ['**/*.test.ts'] },
  ).map((file) => ({ place: file, language: 'ts', code: read(file) }));
  const blocks = globSync('docs/**/*.md', { cwd: root }).flatMap((file) => toCodeBlocks(file, read(file)));
  const untyped = [...programs, ...blocks]
    .filter(({ language }) => ['ts', 'tsx'].includes(language))
    .flatMap(({ place, code }) =>
      withoutTexts(code)
        .split('\n')
        .filter((line) => /\bas (?!const\b)\S|: any\b|<any\b/.test(line) && !/^\s*(import|export) /.test(line))
        .map((line) => `${place}: ${line.trim()}`),
    );
  expect(programs.length).toBeGreaterThan(50);
  expect(untyped).toEqual([]);
});

/** Code alone: what comments and quoted texts say in words is no code. */
function withoutTexts(code: string): string {
  return code.replace(/\/\*.*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|`[^`]*`/gms, '');
}
