import { readFileSync } from 'node:fs';
import { actionKeywords, kinds } from '@palaver/program/internal';
import { expect, test } from 'vitest';
import { toActionReference, toEditorFields, toStateReference } from './action-docs.ts';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test('the references of states and actions are what the files of the keywords say', () => {
  expect(read('docs/ussd-actions.md')).toBe(toActionReference());
  expect(read('docs/ussd-menus.md')).toContain(toStateReference());
});

test('the fields and the words of the editor are what the files of the keywords say', () => {
  expect(read('apps/console/web/programs/keywords.json')).toBe(toEditorFields());
  const words = JSON.parse(read('apps/console/web/i18n/en.json')) as Record<string, string>;
  for (const [name, { editor }] of Object.entries(kinds)) expect(words[`programs.kind-${name}`]).toBe(editor.title);
  for (const [name, { editor }] of Object.entries(actionKeywords))
    expect(words[`programs.does-${name}`]).toBe(editor.title);
});
