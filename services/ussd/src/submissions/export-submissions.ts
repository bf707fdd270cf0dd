import { toCsvLines } from '@palaver/service-kit/internal';
import type { StoredSubmission, SubmissionFilter, Submissions } from './submissions.ts';

const pieceSize = 500;
const columns = ['instanceId', 'formId', 'formVersion', 'phoneNumber', 'createdAt', 'status'] as const;
const maxColumns = 2_000;

type Filter = Pick<SubmissionFilter, 'formId' | 'status'>;

async function* readAll(submissions: Pick<Submissions, 'find'>, filter: Filter): AsyncGenerator<StoredSubmission[]> {
  for (let offset = 0; ; offset += pieceSize) {
    const piece = await submissions.find({ ...filter, limit: pieceSize, offset });
    yield piece;
    if (piece.length < pieceSize) return;
  }
}

/** Two passes: the columns are known only when every submission has been seen. */
export async function* toCsv(
  submissions: Pick<Submissions, 'find'>,
  filter: Filter,
  forSpreadsheet = false,
): AsyncGenerator<string> {
  const names = new Set<string>();
  for await (const piece of readAll(submissions, filter))
    for (const { answers } of piece)
      for (const name of Object.keys(answers)) if (names.size < maxColumns) names.add(name);
  yield toCsvLines([[...columns, ...names]]);
  for await (const piece of readAll(submissions, filter))
    yield toCsvLines(
      piece.map((submission) => [
        ...columns.map((column) => submission[column]),
        ...Array.from(names, (name) => submission.answers[name] ?? ''),
      ]),
      { forSpreadsheet },
    );
}

/** As ODK writes them. */
export async function* toXml(submissions: Pick<Submissions, 'find'>, filter: Filter): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<submissions>\n';
  for await (const piece of readAll(submissions, filter)) for (const { xml } of piece) yield `${xml}\n`;
  yield '</submissions>\n';
}

/** One object a line. */
export async function* toJsonLines(submissions: Pick<Submissions, 'find'>, filter: Filter): AsyncGenerator<string> {
  for await (const piece of readAll(submissions, filter))
    for (const { xml: _, ...rest } of piece) yield `${JSON.stringify(rest)}\n`;
}
