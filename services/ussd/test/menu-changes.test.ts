// Menus that change while requests are under way, and files that are saved the way editors and deployments save them.
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { bundledProgram } from '../src/catalog/bundled-program.ts';
import { startService } from './service-fixture.ts';

const menu = (page: string) => `
name: mine
start: home
exit: bye
states:
  home: { kind: menu, text: home, options: [{ key: 1, text: ask, to: wait }, { key: 2, text: ask, to: ${page} }] }
  wait: { kind: action, action: wait, outcomes: { done: ${page} } }
  ${page}: { kind: page, text: page }
  bye: { kind: end, text: bye }
`;

async function prepareSources() {
  const dir = await createTempDir();
  const path = (name: string) => join(dir.path, name);
  cpSync(join(bundledProgram, 'locales'), path('locales'), { recursive: true });
  for (const language of ['en', 'fr', 'sw']) {
    const file = path(`locales/${language}.yaml`);
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nhome: Home one\nask: Ask\npage: The page\nbye: Bye\n`);
  }
  writeFileSync(path('program.yaml'), menu('page'));
  writeFileSync(
    path('actions.mjs'),
    `import { existsSync } from 'node:fs';
     export const actions = { wait: { outcomes: ['done'], finishes: false, async run() {
       while (!existsSync(${JSON.stringify(path('go'))})) await new Promise((resolve) => setTimeout(resolve, 20));
       return { outcome: 'done' };
     } } };`,
  );
  const env = {
    USSD_PROGRAMS: dir.path,
    USSD_ACTIONS: path('actions.mjs'),
    USSD_WATCH_MENUS: 'true',
  };
  return { path, env, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

/** As editors and deployments do: a new file takes the old one's place. */
function saveAtomically(file: string, source: string): void {
  writeFileSync(`${file}.new`, source);
  renameSync(`${file}.new`, file);
}

test('a session ends on the menu it began with, also when its state is gone from the new one', async () => {
  await using sources = await prepareSources();
  await using service = await startService('sqlite', sources.env);
  const waiting = service.say('a', '1');
  await service.say('b', '');
  saveAtomically(sources.path('program.yaml'), menu('other').replace('text: ask, to: wait', 'text: bye, to: wait'));
  await waitFor('the new menu', async () => (await service.say(`n${Math.random()}`, '')).includes('1. Bye'));
  writeFileSync(sources.path('go'), '');
  expect(await waiting).toBe('CON The page\n0. Back\n*. Exit');
  expect(await service.say('a', '1*0')).toMatch(/^CON Home one\n1\. Ask/);
  expect(await service.say('b', '2')).toMatch(/^CON The page\n/);
});

test('the file of a program is watched through any number of atomic saves', async () => {
  await using sources = await prepareSources();
  await using service = await startService('sqlite', sources.env);
  for (const round of [1, 2, 3]) {
    const source = menu('page').replace(
      /options: \[(\{[^}]+\}), /,
      (_, first) => `options: [${first}, ${'{ key: 3, text: ask, to: page }, '.repeat(round === 2 ? 1 : 0)}`,
    );
    saveAtomically(sources.path('program.yaml'), source);
    await waitFor(
      `the menu of save ${round}`,
      async () => (await service.say(`s${Math.random()}`, '')).includes('3. Ask') === (round === 2),
    );
  }
});
