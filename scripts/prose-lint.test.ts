import { expect, it } from 'vitest';
import { lintProse } from './prose-lint.ts';

it('finds words in documents, help texts and comments, and leaves code alone', () => {
  const document = 'It starts anew.\n```sh\nstart anew\n```\nThe option `anew` is fine.';
  expect(lintProse('a.md', document)).toMatchObject([{ line: 1, found: 'anew' }]);
  const source = "// It goes on.\nconst anew = 1;\nhelp('start it anew');";
  expect(lintProse('a.ts', source)).toMatchObject([
    { line: 1, found: 'goes on' },
    { line: 3, found: 'anew' },
  ]);
});

it('finds a phrase that a line break splits, and the second text of a line', () => {
  expect(lintProse('a.md', 'One.\nIt goes\non.')).toMatchObject([{ line: 2, found: 'goes on' }]);
  expect(lintProse('a.ts', '// It goes\n// on.')).toMatchObject([{ line: 1, found: 'goes on' }]);
  expect(lintProse('a.ts', "refuse('CODE', 'it starts anew')")).toMatchObject([{ found: 'anew' }]);
});
