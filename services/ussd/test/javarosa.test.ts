// Submissions as JavaRosa, the engine of ODK Collect, reads them, where it is there: see docs/decisions/odk-forms.md.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createForms, exploreForm } from '@palaver/forms/internal';
import { type FormSource, toFormSources } from '@palaver/program/internal';
import { createTempDir } from '@palaver/test-kit';
import { expect, test, vi } from 'vitest';
import { readProgramSource } from '../src/catalog/read-source.ts';
import { samples, toXForm } from './sample-forms.ts';

vi.setConfig({ testTimeout: 300_000 });

// biome-ignore lint/style/noProcessEnv: JavaRosa comes from no npm package; who has it names it.
const classPath = process.env.JAVAROSA_CLASSPATH;
const reader = join(import.meta.dirname, 'javarosa/ReadInstance.java');
const survey = join(import.meta.dirname, '../../../examples/household-survey');

/** JavaRosa 4.3 itself fails on choices that are answers of a repeat, and lets nobody past a required note. */
const leftOut = ['choices that are answers', 'required note that is always shown'];

async function listForms(): Promise<[string, FormSource][]> {
  const own = Object.entries(samples)
    .filter(([name]) => !leftOut.includes(name))
    .map(([name, sample]): [string, FormSource] => [
      name,
      { xml: toXForm(sample), attachments: sample.attachments ?? {} },
    ]);
  return [...own, ...toFormSources(await readProgramSource(survey))];
}

/** Times have a zone there, and decimals a point. */
function toComparable(value: string): string {
  return value.replace(/(\.\d+?)0*(?:Z|\+00:00)?$/, '$1').replace(/\.0$/, '');
}

test('JavaRosa reads the same answers from every submission, and finds none that breaks a rule of its form', async ({
  skip,
}) => {
  if (classPath === undefined) return skip('JAVAROSA_CLASSPATH is not set: see docs/decisions/odk-forms.md');
  await using dir = await createTempDir();
  await using forms = createForms();
  const expected = new Map<string, { name: string; answers: Readonly<Record<string, string>> }>();
  for (const [name, source] of await listForms()) {
    const call = { source, language: 'en', phoneNumber: '+254700000001', take: {}, samples: [] };
    const { submissions } = await exploreForm(forms, { ...call, see: () => {}, isOver: () => false });
    for (const { xml, answers } of submissions) {
      const folder = String(expected.size);
      expected.set(folder, { name, answers });
      mkdirSync(join(dir.path, folder));
      const files = { 'form.xml': source.xml, 'submission.xml': xml, ...source.attachments };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(dir.path, folder, file), text);
    }
  }
  const folders = Array.from(expected.keys(), (folder) => join(dir.path, folder));
  const output = execFileSync('java', ['-cp', classPath, reader, ...folders], { encoding: 'utf8', maxBuffer: 1e8 });
  for (const part of output.split('FORM\t').slice(1)) {
    const [folder = '', ...lines] = part.trimEnd().split('\n');
    const { name = '', answers = {} } = expected.get(basename(folder)) ?? {};
    const read = new Map(lines.map((line) => line.split('\t') as [string, string]));
    expect([read.get('FAULT'), read.get('INVALID')], name).toEqual([undefined, undefined]);
    for (const [path, value] of Object.entries(answers)) {
      // JavaRosa leaves empty answers out of a sum; to the engine of the forms here such a sum is no number.
      if (value === '') continue;
      const found = [...read].find(([at]) => at.replace(/^\/[^/]+\//, '') === path)?.[1] ?? '';
      expect(toComparable(found), `${name} ${path}`).toBe(toComparable(value));
    }
    expected.delete(basename(folder));
  }
  expect(expected.size).toBe(0);
});
