import { toCsvLines } from '@palaver/service-kit/internal';
import type { StoredSubmission } from './submissions.ts';

const columns = ['instanceId', 'formId', 'formVersion', 'phoneNumber', 'createdAt', 'status'] as const;
const maxColumns = 2_000;

type Pieces = AsyncIterable<readonly StoredSubmission[]>;

/** Two passes: the columns are known only when every submission has been seen. */
export async function* toCsv(all: () => Pieces, { forSpreadsheet = false } = {}): AsyncGenerator<string> {
  const names = new Set<string>();
  for await (const piece of all())
    for (const { answers } of piece)
      for (const name of Object.keys(answers)) if (names.size < maxColumns) names.add(name);
  yield toCsvLines([[...columns, ...names]]);
  for await (const piece of all())
    yield toCsvLines(
      piece.map((submission) => [
        ...columns.map((column) => submission[column]),
        ...Array.from(names, (name) => submission.answers[name] ?? ''),
      ]),
      { forSpreadsheet },
    );
}

/** As ODK writes them. */
export async function* toXml(all: () => Pieces): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<submissions>\n';
  for await (const piece of all()) for (const { xml = '' } of piece) yield `${xml}\n`;
  yield '</submissions>\n';
}

/** One object a line. */
export async function* toJsonLines(all: () => Pieces): AsyncGenerator<string> {
  for await (const piece of all()) for (const { xml: _, ...rest } of piece) yield `${JSON.stringify(rest)}\n`;
}
