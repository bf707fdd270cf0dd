import { Readable } from 'node:stream';
import { AppError, offsetPageQuerySchema } from '@palaver/contract';
import { type Server, toCsvLines } from '@palaver/service-kit';
import type { DatabaseClock } from '@palaver/store';
import { z } from 'zod';
import type { StoredSubmission, SubmissionFilter, Submissions } from '../submissions/submissions.ts';

const querySchema = offsetPageQuerySchema.extend({
  formId: z.string().max(200).optional(),
  status: z.enum(['stored', 'queued', 'sent', 'failed']).optional(),
  format: z.enum(['json', 'csv', 'spreadsheet', 'xml']).default('json'),
});
const pieceSize = 500;
const columns = ['instanceId', 'formId', 'formVersion', 'phoneNumber', 'createdAt', 'status'] as const;
const maxColumns = 2_000;

export interface SubmissionParts {
  submissions: Submissions;
  clock: Pick<DatabaseClock, 'now'>;
}

/** Completed forms, for operators: as a list, as a table, and as ODK writes them. */
export function addSubmissionRoutes(server: Server, { submissions, clock }: SubmissionParts): void {
  server.post(
    '/api/ussd/submissions/retry',
    {
      onRequest: server.operatorGuardFor('admin'),
      schema: { body: z.strictObject({ instanceId: z.string().max(200).optional() }) },
    },
    async ({ body }) => ({ queued: await submissions.retry(clock.now(), body.instanceId) }),
  );
  server.get('/api/ussd/submissions', { schema: { querystring: querySchema } }, async ({ query }, reply) => {
    const { limit, offset, format, formId, status } = query;
    const filter = { formId, status };
    if (format === 'json') {
      const found = await submissions.find({ ...filter, limit, offset });
      return { submissions: found.map(({ xml: _, ...rest }) => rest), forms: await submissions.forms(), limit, offset };
    }
    const forSpreadsheet = format === 'spreadsheet';
    reply.header('content-disposition', `attachment; filename="submissions.${forSpreadsheet ? 'csv' : format}"`);
    if (format !== 'xml')
      return reply.type('text/csv; charset=utf-8').send(Readable.from(toCsv(submissions, filter, forSpreadsheet)));
    return reply.type('text/xml; charset=utf-8').send(Readable.from(toXml(submissions, filter)));
  });
  server.get(
    '/api/ussd/submissions/:instanceId',
    { schema: { params: z.object({ instanceId: z.string().max(200) }) } },
    async ({ params }, reply) => {
      const found = await submissions.load(params.instanceId);
      if (!found) throw new AppError('NOT_FOUND', 'There is no submission with this id.');
      return reply.type('text/xml; charset=utf-8').send(found.xml);
    },
  );
}

type Filter = Pick<SubmissionFilter, 'formId' | 'status'>;

async function* readAll(submissions: Submissions, filter: Filter): AsyncGenerator<StoredSubmission[]> {
  for (let offset = 0; ; offset += pieceSize) {
    const piece = await submissions.find({ ...filter, limit: pieceSize, offset });
    yield piece;
    if (piece.length < pieceSize) return;
  }
}

/** Two passes: the columns are known only when every submission has been seen. */
async function* toCsv(submissions: Submissions, filter: Filter, forSpreadsheet: boolean): AsyncGenerator<string> {
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

async function* toXml(submissions: Submissions, filter: Filter): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<submissions>\n';
  for await (const piece of readAll(submissions, filter)) for (const { xml } of piece) yield `${xml}\n`;
  yield '</submissions>\n';
}
