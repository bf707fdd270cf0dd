import { AppError } from '@palaver/contract';
import { boundedText, offsetPageQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { toExport, toReply } from '@palaver/service-kit/internal';
import type { DatabaseClock } from '@palaver/store';
import { z } from 'zod';
import { showCallersTo, showPieces } from '../callers/show-callers.ts';
import { toCsv, toXml } from '../submissions/export-submissions.ts';
import type { Submissions } from '../submissions/submissions.ts';

const querySchema = offsetPageQuerySchema.extend({
  formId: boundedText(0, 200).optional(),
  status: z.enum(['stored', 'queued', 'sent', 'failed']).optional(),
  format: z.enum(['json', 'csv', 'spreadsheet', 'xml']).default('json'),
});

const listReply = toReply('A page as JSON, or all of it as a file', 'application/json', 'text/csv', 'text/xml');

const retrySchema = z.strictObject({
  instanceId: boundedText(0, 200).optional(),
  program: boundedText(0, 60).optional(),
  formId: boundedText(0, 200).optional(),
});

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
      schema: { body: retrySchema },
    },
    async ({ body }) => ({ queued: await submissions.retry(clock.now(), body) }),
  );
  server.get(
    '/api/ussd/submissions',
    { schema: { querystring: querySchema, response: { 200: listReply } } },
    async ({ query, operator }, reply) => {
      const { limit, offset, format, formId, status } = query;
      const show = showCallersTo(operator);
      const filter = { formId, status };
      if (format === 'json') {
        const found = (await submissions.find(filter, { limit, offset })).map(show);
        return {
          submissions: found.map(({ xml: _, ...rest }) => rest),
          forms: await submissions.forms(),
          limit,
          offset,
        };
      }
      const all = () => showPieces(submissions.all(filter, { hasXml: format === 'xml' }), show);
      const forSpreadsheet = format === 'spreadsheet';
      reply.header('content-disposition', `attachment; filename="submissions.${forSpreadsheet ? 'csv' : format}"`);
      if (format !== 'xml')
        return reply.type('text/csv; charset=utf-8').send(toExport(server, toCsv(all, { forSpreadsheet })));
      return reply.type('text/xml; charset=utf-8').send(toExport(server, toXml(all)));
    },
  );
  server.get(
    '/api/ussd/submissions/:instanceId',
    {
      schema: {
        params: z.object({ instanceId: boundedText(0, 200) }),
        response: { 200: toReply('The form as XML', 'text/xml') },
      },
    },
    async ({ params, operator }, reply) => {
      const found = await submissions.load(params.instanceId);
      if (!found) throw new AppError('NOT_FOUND', 'There is no submission with this id.');
      return reply.type('text/xml; charset=utf-8').send(showCallersTo(operator)(found).xml);
    },
  );
}
