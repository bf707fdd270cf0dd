import { expect, test } from 'vitest';
import { t } from '../i18n/text.ts';
import { readProgram } from '../programs/read-program.ts';
import { choiceLabel, countChoices, labelsOf, questionLabel } from './labels.ts';

const version = (options: string, texts: string) =>
  readProgram({
    'program.yaml': `name: water
codes: ["*384*7#"]
start: ask
states:
  ask: { kind: prompt, text: t.ask, type: choice, options: [${options}], save: source, to: keep }
  keep: { kind: action, store: visit, fields: { source: source }, outcomes: { stored: end } }
  end: { kind: end, text: t.ask }
`,
    'locales/en.yaml': `t: { ask: Which water?, ${texts} }\n`,
  });
const before = version('{ text: t.tap, value: tap }, { text: t.well, value: well }', 'tap: A tap, well: A well');
const now = version('{ text: t.pipe, value: pipe }, { text: t.well, value: well }', 'pipe: A pipe, well: A borehole');
const set = { source: 'records', name: 'visit' } as const;

test('a choice with new words has them in all results; one that is gone keeps its words, and is marked', () => {
  const labels = labelsOf(now, [before], set);
  expect(['pipe', 'well', 'tap', 'river'].map((code) => choiceLabel(labels, 'source', code))).toEqual([
    'A pipe',
    'A borehole',
    t('results.notOffered', { label: 'A tap' }),
    'river',
  ]);
  expect(questionLabel(labels, 'source')).toBe('Which water?');
  expect(questionLabel(labelsOf(readProgram({ 'program.yaml': 'name: water' }), [before], set), 'source')).toBe(
    'Which water?',
  );
});

test('an answer of several choices counts for each of them, in repeats too', () => {
  const labels = labelsOf(before, [], set);
  const values = [
    { value: 'tap well', count: 2 },
    { value: 'tap', count: 3 },
    { value: 'tap river', count: 1 },
  ];
  const counted = [
    { value: 'tap', count: 5 },
    { value: 'well', count: 2 },
    // One of these is no choice, so it is not known where one ends.
    { value: 'tap river', count: 1 },
  ];
  expect(countChoices(labels, { name: 'source', values })).toEqual(counted);
  expect(
    countChoices(
      {
        ...labels,
        choices: new Map([
          [
            'visits/source',
            new Map([
              ['tap', 'A tap'],
              ['well', 'A well'],
            ]),
          ],
        ]),
      },
      { name: 'visits[2]/source', values },
    ),
  ).toEqual(counted);
});
